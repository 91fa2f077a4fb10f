package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/convene-run/convene/internal/filelock"
)

// maxFileBytes is more than [MaxTokens] take.
const maxFileBytes = 8 << 20

// content is the file.
type content struct {
	Tokens []Token `json:"tokens"`
}

// readTokens reads a file; one that is not there is empty.
func readTokens(path string) ([]Token, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or written by other users (mode %04o); only its owner may: chmod 600 %[1]s", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	var c content
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&c); {
	case len(text) > maxFileBytes || len(c.Tokens) > MaxTokens:
		return nil, fmt.Errorf("%s is no file of tokens: it is too large", path)
	case err != nil:
		return nil, fmt.Errorf("%s is no file of tokens, as convene token add writes it: %w", path, err)
	}
	return c.Tokens, nil
}

// change replaces the tokens of a file as a whole. Two processes do so one after the other.
func change(path string, how func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := locked(lock); err != nil {
		return err
	}
	list, err := readTokens(path)
	if err != nil {
		return err
	}
	if list, err = how(list); err != nil {
		return err
	}
	text, err := json.MarshalIndent(content{Tokens: list}, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(text, '\n'))
}

// lockTries and lockPause bound the wait for another process that changes the file.
const (
	lockTries = 500
	lockPause = 10 * time.Millisecond
)

func locked(lock *os.File) error {
	for range lockTries {
		if ok, err := filelock.Try(lock, true); ok || err != nil {
			return err
		}
		time.Sleep(lockPause)
	}
	return fmt.Errorf("another process keeps %s locked: try again when it has ended", lock.Name())
}

func replace(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // for its owner alone
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
