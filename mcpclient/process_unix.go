//go:build unix

package mcpclient

import (
	"context"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup gives the command a process group of its own, so that its children can be ended
// with it, and a ^C at the terminal is ours alone.
func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup asks the command and its children to terminate, or kills them.
func signalGroup(command *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-command.Process.Pid, signal) // fails when nobody is left
}

// guardScript waits for its input to end. It ends without a word only when convene has
// died, killed with SIGKILL for example: then the group has a second to notice that its own
// input has ended.
const guardScript = `read -r dismissed || { sleep 1; kill -9 -"$1"; }`

// guard is a shell that ends the group of a server whose convene has died.
type guard struct {
	command *exec.Cmd
	stdin   io.WriteCloser
}

// guardGroup starts the guard of a group. Where there is no shell, a server whose convene
// was killed only finds its input closed.
func guardGroup(group int) *guard {
	g := &guard{command: exec.CommandContext(context.Background(), "/bin/sh", "-c", guardScript, "sh", strconv.Itoa(group))}
	ownGroup(g.command)
	g.command.Env = []string{"PATH=/usr/bin:/bin"}
	stdin, err := g.command.StdinPipe()
	if err != nil {
		return nil
	}
	if err := g.command.Start(); err != nil {
		return nil
	}
	g.stdin = stdin
	return g
}

// dismiss ends the guard.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_, _ = io.WriteString(g.stdin, "dismissed\n") // fails if somebody killed it
	_ = g.stdin.Close()
	_ = g.command.Wait()
}
