// Command convene gathers a team of LLM specialists around one request.
//
//	convene run --model sim "Plan three days in Kyoto for two"
//
// This package wires: flags, signals, exit codes and views. What other programs
// may want lives in the packages below it.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/convene-run/convene/cmd/internal/config"
)

func main() {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, config: &config.Config{}, interrupts: interrupts}
	os.Exit(a.main(os.Args[1:]))
}

// interrupts takes ^C, termination and the end of the terminal over from the system, for
// a command that has something to put in order first. Until then they end the process.
// Under nohup, which ignores it, the end of the terminal stays ignored.
func interrupts() <-chan os.Signal {
	signals := make(chan os.Signal, 2) // the second ^C must not be lost
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// outlivePipes makes a reader of stdout or stderr that went away an error of the write,
// for a command that must put a run in order first. Until then it ends the process.
func outlivePipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
