package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// TestTerminalScreens writes what a terminal of 40, 80 and 200 columns shows to
// testdata/screens, as tmux has it, for a person to look at: `make terminal-screens` runs it.
func TestTerminalScreens(t *testing.T) {
	race.Processes(t)
	if os.Getenv("CONVENE_SCREENSHOTS") == "" {
		t.Skip("make terminal-screens runs it")
	}
	for _, columns := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			s := newScreen(t, columns)
			s.types(`convene run "Plan three days in Kyoto for two people who walk a lot and eat no meat"`)
			s.shows("✓ 1")
			s.keep("run-under-way")
			s.rests()
			s.keep("run")
			for name, command := range map[string]string{
				"runs": "convene runs", "show": "convene show", "events": "convene show --events", "sources": "convene show --sources", "call": "convene show --call f.2",
				"help": "convene --help", "run-help": "convene run --help", "wrong": "convene run --max-cots 1 x", "models": "convene models sim", "team": "convene team show trip", "doctor": "convene doctor",
			} {
				s.types(command)
				s.rests()
				s.keep(name)
			}
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "rows.txt"), []byte("Plan a day in Kyoto\nPlan a day in Nara\nPlan a day in Osaka\n"), 0o600))
			s.types("convene batch rows.txt -o out.jsonl --concurrency 2")
			s.shows("of 3 done")
			s.keep("batch-under-way")
			s.rests()
			s.keep("batch")
			s.types("convene batches")
			s.rests()
			s.keep("batches")
			s.types("convene chat")
			s.shows("›")
			s.types("What should we see in Kyoto in three days, and what does it cost?")
			s.shows("Assistant ›", "Facilitator ›")
			s.keep("chat")
			s.tmux("send-keys", "C-d")
			s.rests()
		})
	}
}

// screen is a terminal that tmux draws, with a shell in an empty folder.
type screen struct {
	t       *testing.T
	dir     string
	columns int
}

func newScreen(t *testing.T, columns int) *screen {
	t.Helper()
	s := &screen{t: t, dir: t.TempDir(), columns: columns}
	shell := fmt.Sprintf("env -i HOME='%s' TERM=xterm-256color LANG=C.UTF-8 CONVENE_MODEL=sim PATH='%s' PS1='$ ' bash --norc --noprofile", s.dir, os.Getenv("PATH"))
	s.tmux("new-session", "-d", "-x", fmt.Sprint(columns), "-y", "60", shell, ";", "set", "-g", "status", "off", ";", "set", "-g", "history-limit", "5000")
	t.Cleanup(func() { s.tmux("kill-server") })
	s.shows("$")
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(s.dir, "tmux"), "-f", os.DevNull}, args...)...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// types enters a line on a screen that was cleared.
func (s *screen) types(line string) {
	s.t.Helper()
	s.tmux("send-keys", "-R", ";", "clear-history", ";", "send-keys", "-l", line)
	s.tmux("send-keys", "Enter")
}

// text is what is on the screen, and what has left it above.
func (s *screen) text() string { return s.tmux("capture-pane", "-p", "-S", "-") }

// shows waits until one of the words is there.
func (s *screen) shows(words ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		text := s.text()
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
		return false
	}, time.Minute, 20*time.Millisecond, "%v", words)
}

// rests waits until the shell asks for the next command.
func (s *screen) rests() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return strings.HasSuffix(strings.TrimRight(s.text(), "\n "), "\n$") }, time.Minute, 20*time.Millisecond)
}

func (s *screen) keep(name string) {
	s.t.Helper()
	dir := filepath.Join("testdata", "screens")
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.txt", name, s.columns)), []byte(s.text()), 0o600))
}
