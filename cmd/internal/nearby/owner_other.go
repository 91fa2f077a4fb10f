//go:build !unix

package nearby

import "os"

// Owners are not looked at here, and a drive's root ends the search.

// BelongsToUser reports whether the file is the user's.
func BelongsToUser(os.FileInfo) bool { return true }

// WritableByOthers reports whether every user can write the file.
func WritableByOthers(os.FileInfo) bool { return false }

func sameDevice(string, string) bool { return true }
