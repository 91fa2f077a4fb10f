// Whole measures what users pay for runs: the built program as a whole process, `convene
// batch` with its store, beside a bare loop with short prompts of its own, against a server
// in a third process, on another core where there is one. `make bench` runs it:
//
//	whole bin/convene
//
// Processor time is that of the process, user and system, its start included. The server, the
// bare loop and the job stay fixed, so that figures of different days can be compared.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "whole:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		tokens, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return serve(tokens, pace(args[2]))
	case len(args) == 4 && args[0] == "bare":
		width, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return bare(ctx, args[1], args[2], width)
	case len(args) == 1:
		return compare(ctx, args[0])
	}
	return errors.New("usage: whole CONVENE, where CONVENE is the built program")
}

// serve serves until its parent closes standard input.
func serve(tokensPerChunk int, p pace) error {
	script, err := readScript()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: newServer(script, tokensPerChunk, p)} //nolint:gosec // talks to its parent's children alone
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0) // ends with the parent
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func compare(ctx context.Context, convene string) (err error) {
	b := &bench{}
	if b.script, err = readScript(); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.convene, err = filepath.Abs(convene); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "convene-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	return b.table(ctx)
}
