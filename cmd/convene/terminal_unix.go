//go:build unix

package main

import (
	"os"
	"os/signal"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// foreground tells whether this process has the terminal: one in the background
// must not draw on it, and would be stopped if it changed it.
func foreground(fd uintptr) bool {
	group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// muteKeys keeps what is typed from being written into the picture. The keys stay
// in the terminal for the shell, and ^C stays a signal. The function it gives puts
// the terminal back.
func muteKeys(fd uintptr) (restore func() error) {
	before, err := term.GetState(fd)
	if err != nil {
		return func() error { return nil }
	}
	muted := *before
	muted.Lflag &^= unix.ECHO
	if term.SetState(fd, &muted) != nil {
		return func() error { return nil }
	}
	return func() error { return term.SetState(fd, before) }
}

// readKeys has the terminal give each key as it is pressed, unseen; ^C and ^Z stay
// signals. The function it gives puts the terminal back.
func readKeys(fd uintptr) (restore func() error, err error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	raw := *before
	raw.Lflag &^= unix.ECHO | unix.ICANON | unix.IEXTEN
	raw.Iflag &^= unix.ICRNL | unix.IXON
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := term.SetState(fd, &raw); err != nil {
		return nil, err
	}
	return func() error { return term.SetState(fd, before) }, nil
}

// continued tells when the process goes on after ^Z.
func continued() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// readable reports whether there is something to read now.
func readable(fd uintptr) bool {
	asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(asked, 0)
	return err == nil && n > 0 && asked[0].Revents&unix.POLLIN != 0
}
