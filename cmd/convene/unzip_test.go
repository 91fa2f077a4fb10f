package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// unzip ARCHIVE DIR unpacks an archive.
func unzip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unzip ARCHIVE DIR")
	}
	archive, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer archive.Close()
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), archive))
	// Paths hold hashes: short names for the scripts.
	ts.Check(fs.WalkDir(archive, "artifacts", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(archive, path)
		if err != nil {
			return err
		}
		return os.WriteFile(ts.MkAbs(args[1])+"/"+path[strings.LastIndexByte(path, '/')+1:], body, 0o600)
	}))
}
