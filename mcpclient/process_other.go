//go:build !unix

package mcpclient

import "os/exec"

func ownGroup(*exec.Cmd) {}

// signalGroup kills the command; its children see their input end.
func signalGroup(command *exec.Cmd, kill bool) {
	if kill {
		_ = command.Process.Kill() // fails when it has ended
	}
}

type guard struct{}

func guardGroup(int) *guard { return nil }

func (*guard) dismiss() {}
