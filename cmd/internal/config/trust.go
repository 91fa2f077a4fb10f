package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// trustedFile lists the files that the user trusts, in the folder of the user's file: the
// hash of each by its path.
const trustedFile = "trusted.json"

// fingerprint is what a file is known by: its place, its bytes, and those of the
// variables that it names. The same bytes elsewhere would name other commands.
func fingerprint(path string, src, env []byte) string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(path), src, env} {
		fmt.Fprintf(sum, "%d:", len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// trusted reads the list of those trusted.
func trusted(dir string) (map[string]string, error) {
	path := filepath.Join(dir, trustedFile)
	text, err := readOwn(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	list := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to trust no project", path, err)
	}
	return list, nil
}

// remember has the list trust the file, or forget it where hash is "".
func remember(dir, path, hash string) error {
	list, err := trusted(dir)
	if err != nil {
		return err
	}
	if list[path] = hash; hash == "" {
		delete(list, path)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".trusted-*") // readable by the user alone
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, trustedFile))
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
