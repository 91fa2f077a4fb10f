//go:build unix

package main

import (
	"os"
	"os/signal"
	"time"

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

// jobSignals bring ^Z, which the process then has to obey itself, and that it goes on.
// Where ^Z is ignored it stays so.
func jobSignals() (stops, continues <-chan os.Signal, forget func()) {
	stop, goOn := make(chan os.Signal, 1), make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(stop, unix.SIGTSTP)
	}
	signal.Notify(goOn, unix.SIGCONT)
	return stop, goOn, func() {
		signal.Stop(stop)
		signal.Stop(goOn)
	}
}

// stopPauses of stopPause are the wait for the process to be stopped: without a shell that
// could have it go on the system does not stop it at all.
const (
	stopPauses = 25
	stopPause  = 20 * time.Millisecond
)

// stopProcess stops the process as ^Z would have, and returns when it goes on. The Go runtime
// keeps catching a signal that it was once asked for, so another one has to do it. SIGSTOP
// would stop it for good where there is no shell.
func stopProcess(continues <-chan os.Signal) {
	_ = unix.Kill(unix.Getpid(), unix.SIGTTOU)
	for range stopPauses { // time that passes while the process is stopped ends one of them
		select {
		case <-continues:
			return
		case <-time.After(stopPause):
		}
	}
}

// readable reports whether there is something to read now.
func readable(fd uintptr) bool {
	asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(asked, 0)
	return err == nil && n > 0 && asked[0].Revents&unix.POLLIN != 0
}
