// Package race tells tests whether the race detector is on, and so divides the work between
// two runs of the suite. The run with the detector is for goroutines of one process that
// share memory; it makes a process about ten times slower. The run without it tries
// everything: processes that are killed, scripts of the command line, documents, sizes and
// times. What only that run tries says so with Skip or Processes; a test that kills a run at
// every append tries one append in a few under the detector, beginning at a random one
// (Every), and properties are tried on fewer cases (Fewer).
package race

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// Skip skips a test under the race detector, for the reason given: the run without it tries
// the test, and the detector would see nothing in it that it does not see elsewhere.
func Skip(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip("the run without the race detector tries it: " + why)
	}
}

// Processes skips a test of what processes do to each other, or of one that dies: the
// detector sees into one at a time, and tests within a process show it the same goroutines.
func Processes(t testing.TB) {
	t.Helper()
	Skip(t, "it starts processes")
}

// Every gives the first of the places to be tried, counted from first, and the step to the
// next: first and 1 without the race detector, a random one of the first n and n with it.
func Every(n, first int) (from, step int) {
	if !Enabled {
		return first, 1
	}
	return first + rand.IntN(n), n
}

// Fewer has the properties of this test binary tried on a quarter of rapid's hundred cases
// under the race detector, unless the command line says how many.
func Fewer() {
	if checks := flag.Lookup("rapid.checks"); Enabled && checks != nil && checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("25") // a number
	}
}
