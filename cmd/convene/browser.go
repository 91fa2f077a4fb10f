package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// openBrowser opens an address in the browser that the system prefers.
func openBrowser(url string) error {
	var command *exec.Cmd
	switch {
	case os.Getenv("BROWSER") != "":
		command = exec.Command(os.Getenv("BROWSER"), url)
	case runtime.GOOS == "darwin":
		command = exec.Command("open", url)
	case runtime.GOOS == "windows":
		command = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("there is no screen")
	default:
		command = exec.Command("xdg-open", url)
	}
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }() // only so that no dead process stays
	return nil
}
