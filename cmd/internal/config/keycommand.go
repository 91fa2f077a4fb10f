package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	// keyCommandTimeout leaves a person time to unlock a store of passwords.
	keyCommandTimeout = time.Minute
	// keyCommandWait is how long what the command started may keep its output open.
	keyCommandWait = time.Second
	// maxKeyBytes bounds what a command prints: tokens of a few kilobytes exist.
	maxKeyBytes = 64 << 10
)

// keyOf runs a command that prints a key, in the folder dir. What it prints, and the
// command itself, stand in no error: either may hold the key.
func keyOf(ctx context.Context, command, dir, where string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, keyCommandTimeout, fmt.Errorf("it took longer than %s", keyCommandTimeout))
	defer cancel()
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	c := exec.CommandContext(ctx, shell, flag, command)
	var out bounded
	c.Dir, c.Stdout, c.WaitDelay = dir, &out, keyCommandWait
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case out.over:
		err = fmt.Errorf("printed more than %d bytes", maxKeyBytes)
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it ended well, and left something behind
	}
	key := strings.TrimSpace(out.text.String())
	if err == nil && key == "" {
		err = errors.New("printed nothing")
	}
	if err != nil {
		return "", fmt.Errorf("%s: the command that prints the key failed: %w; run it in a terminal to see why", where, err)
	}
	return key, nil
}

// bounded takes so much of a command's output and notes that there was more.
type bounded struct {
	text bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxKeyBytes {
		b.over = true
		return len(p), nil
	}
	return b.text.Write(p)
}
