package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	return readList[string](dir, trustedFile, "to trust no project")
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
	return writeList(dir, trustedFile, list)
}
