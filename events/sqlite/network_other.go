//go:build !darwin && !linux

package sqlite

// networkFilesystem knows nothing of filesystems here: every one counts as local.
func networkFilesystem(string) string { return "" }
