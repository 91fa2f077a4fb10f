package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// pty is a terminal with a program at it. What the program wrote is kept, its escape
// sequences left out.
type pty struct {
	t       *testing.T
	master  *os.File
	command *exec.Cmd
	mu      sync.Mutex // guards written
	written strings.Builder
	read    chan struct{}
}

// atTerminal starts convene at a terminal of 100 by 30 cells.
func atTerminal(t *testing.T, env []string, args ...string) *pty {
	t.Helper()
	return programAtTerminal(t, env, "convene", args...)
}

func programAtTerminal(t *testing.T, env []string, name string, args ...string) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}))
	p := &pty{t: t, master: master, command: exec.Command(name, args...), read: make(chan struct{})}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = slave, slave, slave
	p.command.Env = append(append(os.Environ(), "TERM=xterm-256color", "CONVENE_MODEL=sim", "NO_COLOR=", "LC_ALL=C.UTF-8"), env...)
	p.command.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.command.Start())
	require.NoError(t, slave.Close())
	go p.collect()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		_ = master.Close()
		<-p.read
	})
	return p
}

func (p *pty) collect() {
	defer close(p.read)
	for part := make([]byte, 4096); ; {
		n, err := p.master.Read(part)
		p.mu.Lock()
		p.written.Write(part[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return ansi.Strip(p.written.String())
}

// raw is what was written since the last call of shows, with its escape sequences.
func (p *pty) raw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// echoes reports whether the terminal shows what is typed.
func (p *pty) echoes() bool {
	modes, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	require.NoError(p.t, err)
	return modes.Lflag&unix.ECHO != 0
}

// types sends keys.
func (p *pty) types(keys string) {
	p.t.Helper()
	_, err := p.master.WriteString(keys)
	require.NoError(p.t, err)
}

// shows waits until the texts have come, one behind the other, since the last call.
func (p *pty) shows(texts ...string) {
	p.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		rest, missing := p.text(), ""
		for _, text := range texts {
			_, behind, found := strings.Cut(rest, text)
			if missing = text; !found {
				break
			}
			rest, missing = behind, ""
		}
		if missing == "" {
			p.mu.Lock()
			p.written.Reset()
			p.mu.Unlock()
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%q was not shown:\n%s", missing, p.text())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ends waits for the program's end with that code.
func (p *pty) ends(code int) {
	p.t.Helper()
	err := p.command.Wait()
	if code == 0 {
		require.NoError(p.t, err, p.text())
		return
	}
	require.ErrorContains(p.t, err, fmt.Sprintf("exit status %d", code), p.text())
}

// Proves R33, R34, R36: what a person at a terminal sees of a conversation: who speaks, the
// step, what they typed meanwhile, and the same after the process was killed.
func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "chat.db")
	p := atTerminal(t, nil, "chat", "--team", "skill-builder", "--store", store)
	p.shows("a new conversation", "› ")
	p.types("/he\t\r")
	p.shows("/history", "/leave")
	p.types("I want to create a skilll\x7f that posts alerts\r")
	p.shows("You › I want to create a skill that posts alerts", "Skill Creation Assistant ›", "step 1 of 5: gathering requirements")
	p.types("\x1b[200~When a build fails\nto the channel ops\x1b[201~\r")
	p.shows("You › When a build fails", "      to the channel ops", "Skill Creation Assistant ›", "When should it run")
	require.NoError(t, p.command.Process.Kill())

	p = atTerminal(t, []string{"NO_COLOR=1"}, "chat", "--continue", "--store", store)
	p.shows("You › I want to create a skill that posts alerts", "Skill Creation Assistant ›", "When should it run", "step 2 of 5: defining triggers")
	p.types("\x1b[A\x15\x7f\x15/agents\r")
	p.shows("› Skill Creation Assistant (skill")
	p.types("cancel\r")
	p.shows("You › cancel", "Assistant ›")
	p.types("\x03")
	p.shows("^C again")
	p.types("\x03")
	p.shows("continue this conversation with: convene chat --thread")
	p.ends(exitInterrupted)
}

// ^C cancels the answer and not the conversation; what was typed meanwhile is answered next.
func TestChatCancelsAndQueues(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	server := httptest.NewServer(sim.NewServer(sim.Options{FirstToken: time.Second})) // time to type while it answers
	defer server.Close()
	store := filepath.Join(t.TempDir(), "chat.db")
	p := atTerminal(t, nil, "chat", "--team", "trip", "--store", store, "--base-url", server.URL+"/v1")
	p.shows("a new conversation")
	p.types("Plan three days in Kyoto for two\r")
	p.shows("tasks planned")
	p.types("And what is the weather like?\r")
	p.shows("queued, place 1", "queued 1: And what is the weather like?")
	p.types("\x03")
	p.shows("cancelling the answer", "This request was cancelled: The user stopped it.", "You › And what is the weather like?", "Facilitator ›")
	p.types("\x04")
	p.shows("continue this conversation with")
	p.ends(exitDone)
}

// Proves R70: where the locale knows ASCII alone a terminal gets nothing else; what programs
// read stays as it is.
func TestASCIIAtATerminal(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	server := httptest.NewServer(sim.NewServer(sim.Options{}))
	defer server.Close()
	store := filepath.Join(t.TempDir(), "run.db")
	p := atTerminal(t, []string{"LC_ALL=C"}, "run", "Plan a day in Kyoto for Zoë", "--store", store, "--base-url", server.URL+"/v1")
	p.ends(exitDone)
	<-p.read
	require.Contains(t, p.text(), "+ completed - SIMULATED")
	require.Contains(t, p.text(), "Zoe")
	require.NotRegexp(t, `[^\x00-\x7f]`, p.text())

	p = atTerminal(t, []string{"LC_ALL=C"}, "runs", "--json", "--store", store)
	p.shows("Zoë")
	p.ends(exitDone)
}

// Proves R73: at a terminal a run asks where it needs to know something, and goes on.
func TestRunAsksAtATerminal(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	server := httptest.NewServer(sim.NewServer(sim.Options{}))
	defer server.Close()
	at := []string{"--team", "trip", "--store", filepath.Join(t.TempDir(), "run.db"), "--base-url", server.URL + "/v1"}
	p := atTerminal(t, nil, append([]string{"run", "Plan a trip for two"}, at...)...)
	p.shows("Facilitator ›", "Where should it go", "answer › ")
	p.types("Kyoto, two days\r")
	p.shows("answer › Kyoto, two days", "✓ completed", "show it again with")
	p.ends(exitDone)

	p = atTerminal(t, nil, append([]string{"run", "Plan a trip for two"}, at...)...)
	p.shows("answer › ")
	p.types("\x03")
	p.shows("? awaiting input", "Facilitator asks: Where should it go", "answer it with: convene chat --thread")
	p.ends(exitInput)
}

// Proves R36: a killed process takes nothing along: the answer that was being written is
// given, and then the one to the message that waited.
func TestChatGoesOnAfterAKill(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	model, open := gated(t)
	at := []string{"--store", filepath.Join(t.TempDir(), "chat.db"), "--base-url", model}
	p := atTerminal(t, nil, append([]string{"chat", "--team", "skill-builder"}, at...)...)
	p.shows("a new conversation")
	p.types("I want to create a skill that posts alerts\r")
	p.shows("You › I want to create")
	p.types("When a build fails\r")
	p.shows("queued, place 1")
	require.NoError(t, p.command.Process.Kill())
	open()

	p = atTerminal(t, nil, append([]string{"chat", "--continue"}, at...)...)
	p.shows("You › I want to create a skill that posts alerts", "Skill Creation Assistant ›", "You › When a build fails", "Skill Creation Assistant ›", "When should it run")
	p.types("/exit\r")
	p.ends(exitDone)
}

// Proves R36: what a killed process leaves in its queue is answered by `convene serve`, without
// a further message. Behind a question it waits until that is answered.
func TestServeTakesUpWhatAKilledProcessLeft(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "chat.db")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(secretToken+"\n"), 0o600))
	const writing, asking = "0f3b2a4c-5d6e-4f70-8192-a3b4c5d6e7f8", "1a2b3c4d-5e6f-4708-91a2-b3c4d5e6f708"

	model, open := gated(t)
	p := atTerminal(t, nil, "chat", "--team", "trip", "--thread", asking, "--store", store, "--base-url", model)
	p.shows("a new conversation")
	p.types("Plan a trip for two\r")
	p.shows("You › Plan a trip for two")
	p.types("And what is the weather like?\r")
	p.shows("queued, place 1")
	open()
	p.shows("Where should it go")
	require.NoError(t, p.command.Process.Kill())

	model, open = gated(t)
	p = atTerminal(t, nil, "chat", "--team", "skill-builder", "--thread", writing, "--store", store, "--base-url", model)
	p.shows("a new conversation")
	p.types("I want to create a skill that posts alerts\r")
	p.shows("You › I want to create a skill")
	p.types("When a build fails\r")
	p.shows("queued, place 1")
	require.NoError(t, p.command.Process.Kill())
	open()

	serve := exec.Command("convene", "serve", "--addr", "127.0.0.1:0", "--token-file", "token", "--store", store)
	serve.Dir, serve.Env = dir, append(os.Environ(), "CONVENE_MODEL=sim")
	s := startSession(t, serve)
	shows := func(thread string, texts ...string) {
		t.Helper()
		var all string
		require.Eventually(t, func() bool {
			all = s.ask(t, http.MethodGet, "/api/v1/threads/"+thread+"/messages", "")
			rest := all
			for _, text := range texts {
				_, behind, found := strings.Cut(rest, text)
				if !found {
					return false
				}
				rest = behind
			}
			return true
		}, time.Minute, 50*time.Millisecond, "%s", &all)
	}
	shows(writing, "I want to create a skill", "What should the skill do", "When should it run")
	shows(asking, "Plan a trip for two", "Where should it go")
	s.ask(t, http.MethodPost, "/api/v1/threads/"+asking+"/messages", `{"content":"Kyoto, two days","delivery":"answer"}`)
	shows(asking, "Where should it go", "Kyoto, two days", `"role":"assistant"`, `"role":"assistant"`)
	s.end(t)
}
