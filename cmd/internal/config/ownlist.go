package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readList reads a list that convene keeps in the folder of the user's file; without is what
// there is once it is removed.
func readList[T any](dir, name, without string) (map[string]T, error) {
	path := filepath.Join(dir, name)
	text, err := readOwn(path, true)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]T{}, nil
	}
	list := map[string]T{}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it %s", path, err, without)
	}
	return list, nil
}

// writeList replaces such a list as a whole.
func writeList[T any](dir, name string, list map[string]T) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+name+"-*") // readable by the user alone
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
