package wire

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// countedConn counts what is closed.
type countedConn struct {
	net.Conn
	closed *atomic.Int64
}

func (c countedConn) Close() error {
	c.closed.Add(1)
	return nil
}

// Two thousand runs have three specialists each, and are answered in the same moment.
func TestTheConnectionsOfAWideBatchAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		var p direct
		put := func(n int) {
			for range n {
				p.put(&directConn{Conn: countedConn{closed: &closed}, way: &p, address: "server:80"})
			}
		}
		put(2000 * 3)
		require.Zero(t, closed.Load())
		put(maxIdleConns)
		require.EqualValues(t, 2000*3, closed.Load(), "those beyond the bound")
		for range maxIdleConns {
			require.NotNil(t, p.take("server:80"))
		}
		require.Nil(t, p.take("server:80"))
		put(100)
		time.Sleep(idleConnTimeout)
		synctest.Wait()
		require.EqualValues(t, 2000*3+100, closed.Load(), "nobody needed them")
	})
}
