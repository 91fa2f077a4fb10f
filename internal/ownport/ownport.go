// Package ownport listens for tests that close a port and open it again, or that leave it to
// a process which they start. A port that the system chose is free for all once it is closed:
// the next test that asks for any port, here or in another process, may be given that one.
//
//	listener := ownport.Listen(t)
//	address := listener.Addr().String()
//	_ = listener.Close() // nobody listens there now, and nobody will until the test does
package ownport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Systems choose ports from 32768 (Linux) or 49152 (all others) on.
const from, until = 20_000, 32_768

// Listen is Open for a test, which fails where no port is free.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// Open listens on a port of 127.0.0.1 that no system chooses by itself, and fails where none of
// many is free. Whoever calls it closes the listener.
func Open() (listener net.Listener, err error) {
	for range 100 {
		listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(from+rand.IntN(until-from)))
		if err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("listen on one of 100 ports from %d to %d: %w", from, until-1, err)
}
