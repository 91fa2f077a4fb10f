//go:build !unix

package main

import (
	"os"

	"github.com/charmbracelet/x/term"
)

// foreground is true where the system does not put processes into the background.
func foreground(uintptr) bool { return true }

// muteKeys changes nothing where keys are not echoed by the terminal.
func muteKeys(uintptr) (restore func() error) { return func() error { return nil } }

// readKeys has the terminal give each key as it is pressed, unseen, ^C too.
func readKeys(fd uintptr) (restore func() error, err error) {
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() error { return term.Restore(fd, before) }, nil
}

// jobSignals never come: there is no ^Z.
func jobSignals() (stops, continues <-chan os.Signal, forget func()) { return nil, nil, func() {} }

// stopProcess is never called.
func stopProcess(<-chan os.Signal) {}

// readable takes a pipe for one that somebody writes into.
func readable(uintptr) bool { return true }
