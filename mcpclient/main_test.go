package mcpclient_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/convene-run/convene/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	if os.Getenv("MCPCLIENT_TEST_HOST") != "" {
		host() // of kill_test.go
	}
	goleak.VerifyTestMain(m)
}
