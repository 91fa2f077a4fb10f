package ownport_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/ownport"
)

func TestListen(t *testing.T) {
	listener := ownport.Listen(t)
	address := listener.Addr().(*net.TCPAddr)
	require.Less(t, address.Port, 32_768, "the system may give it to others")
	require.NoError(t, listener.Close())
	again, err := net.Listen("tcp", address.String())
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
