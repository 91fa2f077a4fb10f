//go:build unix

package wire

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal in the middle of a look at a connection says nothing of the connection.
func TestSignalsDoNotAnswer(t *testing.T) {
	for _, answer := range []error{nil, syscall.EAGAIN, syscall.ECONNRESET} {
		came := []error{syscall.EINTR, syscall.EINTR, answer, syscall.EINTR}
		err := uninterrupted(func() (err error) {
			err, came = came[0], came[1:]
			return err
		})
		require.Equal(t, answer, err)
		require.Len(t, came, 1)
	}
}
