// Package race tells tests whether the race detector is on. It makes a run about ten
// times slower, so tests that kill one at every append try one append in a few under it,
// beginning at a random one; without it they try all. Properties are tried on fewer cases.
package race

import (
	"flag"
	"math/rand/v2"
)

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
