package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// openBrowser opens an address in the browser that the system prefers.
func openBrowser(url string) error {
	ctx := context.Background() // the browser outlives the command
	var command *exec.Cmd
	switch {
	case os.Getenv("BROWSER") != "":
		command = exec.CommandContext(ctx, os.Getenv("BROWSER"), url)
	case runtime.GOOS == "darwin":
		command = exec.CommandContext(ctx, "open", url)
	case runtime.GOOS == "windows":
		command = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", url)
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("there is no display")
	default:
		command = exec.CommandContext(ctx, "xdg-open", url)
	}
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }() // only so that no dead process stays
	return nil
}
