package web_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a test waits for what must come: long, for a machine that has
// much else to do.
const patience = 3 * time.Minute

// atEnd, where it is set, runs behind the last test and before goroutines are counted.
var atEnd func()

// TestMain is the driving process where one test started another, and else runs the
// tests and looks for goroutines that they left.
func TestMain(m *testing.M) {
	if path := os.Getenv(driverEnv); path != "" {
		if err := driveForOthers(path); err != nil {
			fmt.Fprintln(os.Stderr, "the driving process:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(tests{m}, goleak.IgnoreTopFunction("os/exec.(*Cmd).watchCtx.func1"))
}

type tests struct{ m *testing.M }

func (t tests) Run() int {
	code := t.m.Run()
	if atEnd != nil {
		atEnd()
	}
	return code
}
