package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkOutput refuses a file that could not be written at the end of a run. It
// leaves nothing behind.
func checkOutput(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("-o %s is a directory. Name a file", path)
	case err == nil:
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("-o cannot be written: %w", err)
		}
		if err := file.Close(); err != nil || !info.Mode().IsRegular() {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("-o cannot be written: %w", err)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".convene-*")
	if err != nil {
		return fmt.Errorf("-o cannot be written: no file can be created in %s: %w", filepath.Dir(path), cause(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// unreadable says once that a file cannot be read.
func unreadable(path string, err error) error {
	return fmt.Errorf("%s cannot be read: %w", path, cause(err))
}

// cause is what went wrong with a file, without the name of one that nobody knows of.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// writeOutput writes a file whole or not at all.
func writeOutput(path string, content []byte) error {
	return writeStream(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// writeStream is [writeOutput] for what is too much to hold.
func writeStream(path string, write func(io.Writer) error) (err error) {
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		// a device or a pipe: there is nothing to replace
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".convene-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	err = write(temp)
	err = errors.Join(err, temp.Sync(), temp.Chmod(outputMode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// outputMode is what a file of a result gets: readable as any other document.
const outputMode = 0o644
