package main

import (
	"os"
	"path/filepath"

	"github.com/convene-run/convene/cmd/internal/nearby"
)

// storeDir and storeFile are the store of a folder and everything below it.
const (
	storeDir  = ".convene"
	storeFile = "convene.db"
)

// nearestStore looks for a store in the working directory and in the folders above it.
// Only a store that belongs to the user counts: anybody may put one into /tmp. It gives
// "" where there is none.
func nearestStore() string {
	for dir := range nearby.Upwards() {
		if path := filepath.Join(dir, storeDir, storeFile); ownStore(path) {
			return path
		}
	}
	return ""
}

// ownStore reports whether the file is there, in a folder that belongs to the user as it
// does itself.
func ownStore(path string) bool {
	file, err := os.Stat(path)
	if err != nil || !file.Mode().IsRegular() {
		return false
	}
	dir, err := os.Stat(filepath.Dir(path))
	return err == nil && nearby.BelongsToUser(file) && nearby.BelongsToUser(dir)
}

// foreignStore reports whether the folder for the store of the working directory is
// there and is somebody else's.
func foreignStore() bool {
	dir, err := os.Stat(storeDir)
	if err != nil {
		return false
	}
	file, err := os.Stat(filepath.Join(storeDir, storeFile))
	return !nearby.BelongsToUser(dir) || err == nil && !nearby.BelongsToUser(file)
}
