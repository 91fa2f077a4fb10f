package runner_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/convene-run/convene/internal/race"
)

// No run leaves a goroutine behind, however it ends. Tests over HTTP wait more than they
// compute: more of them than there are processors run at once.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	flag.Parse()
	race.Fewer()
	goleak.VerifyTestMain(m)
}
