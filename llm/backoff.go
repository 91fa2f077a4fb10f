package llm

import (
	"math/rand/v2"
	"time"
)

// The waits between attempts: half a second doubles to 20 s, so that eight
// attempts span about a minute, which outlasts a restart.
const (
	backoffBase = 500 * time.Millisecond
	backoffMost = 20 * time.Second
)

// backoff gives the wait after the n-th failure, from 1. A quarter of it is
// random, so that calls that failed together do not come back together; what the
// endpoint asked for is never cut short.
func backoff(n int, asked time.Duration) time.Duration {
	wait := min(backoffBase<<min(max(n-1, 0), 16), backoffMost)
	wait = wait*3/4 + rand.N(wait/2)
	if asked > 0 {
		return asked + rand.N(min(asked/10, time.Second)+1)
	}
	return wait
}
