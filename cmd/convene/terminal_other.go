//go:build !unix

package main

// foreground is true where the system does not put processes into the background.
func foreground(uintptr) bool { return true }

// muteKeys changes nothing where keys are not echoed by the terminal.
func muteKeys(uintptr) (restore func() error) { return func() error { return nil } }
