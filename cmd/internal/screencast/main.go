// Command screencast records a command of convene at a terminal as an animated SVG:
//
//	go run ./cmd/internal/screencast docs/terminal.svg
//
// It needs tmux, which draws the terminal. What is typed is in this file; the run happens
// in an empty folder, with the simulated model at its pace for people.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// typed is the command that is shown.
const typed = `convene run --model sim --answer-only "Plan three days in Kyoto for two"`

// columns and rows are the terminal's size.
const columns, rows = 100, 30

const (
	// every is the time between two pictures, and quiet how long nothing may change before
	// the recording ends.
	every, quiet = 200 * time.Millisecond, 4 * time.Second
	// longest is when a recording is given up.
	longest = time.Minute
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "screencast:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: screencast FILE.svg")
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	dir, err := os.MkdirTemp("", "screencast")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "bin", "convene"), "./cmd/convene").CombinedOutput(); err != nil {
		return fmt.Errorf("build convene: %w\n%s", err, out)
	}
	frames, err := record(ctx, dir)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte(film(frames)), 0o644) //nolint:gosec // a picture for everybody
}

// frame is a picture of the terminal, and how long it stands.
type frame struct {
	text string
	time time.Duration
}

// record types the command into a shell in dir, and takes pictures until nothing changes.
func record(ctx context.Context, dir string) ([]frame, error) {
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	tmux := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(dir, "tmux"), "-f", os.DevNull}, args...)...)
		cmd.Dir = home
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
		}
		return string(out), nil
	}
	shell := fmt.Sprintf("env -i HOME='%s' TERM=xterm-256color LANG=C.UTF-8 PATH='%s:/usr/bin:/bin' PS1='$ ' bash --norc --noprofile", home, filepath.Join(dir, "bin"))
	if _, err := tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), shell, ";", "set", "-g", "status", "off"); err != nil {
		return nil, err
	}
	defer func() { _, _ = tmux("kill-server") }()
	if err := pause(ctx, time.Second); err != nil { // for the prompt
		return nil, err
	}
	if _, err := tmux("send-keys", "-l", typed); err != nil {
		return nil, err
	}
	if err := pause(ctx, every); err != nil {
		return nil, err
	}
	capture := func() (string, error) { return tmux("capture-pane", "-e", "-p") }
	first, err := capture()
	if err != nil {
		return nil, err
	}
	frames := []frame{{first, time.Second}}
	if _, err := tmux("send-keys", "Enter"); err != nil {
		return nil, err
	}
	for {
		if err := pause(ctx, every); err != nil {
			return nil, err
		}
		text, err := capture()
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, home, "~")
		last := &frames[len(frames)-1]
		switch {
		case text != last.text:
			frames = append(frames, frame{text, every})
		case last.time < quiet:
			last.time += every
		default:
			return frames, nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the command did not end within %s", longest)
	}
}
