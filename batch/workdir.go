package batch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// workdirSuffix names the directory beside the output that makes a batch resumable:
// the manifest, a copy of standard input, the output before a retry.
const workdirSuffix = ".batch"

// scratchPrefix names files for one process alone. What a killed process left of
// them is not needed, because the log has it.
const scratchPrefix = "scratch-"

func scratch(dir string) (*os.File, error) { return os.CreateTemp(dir, scratchPrefix+"*") }

// sweep removes what killed processes left.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), scratchPrefix) {
			errs = append(errs, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}
