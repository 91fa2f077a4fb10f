package publicaddr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/publicaddr"
)

func TestWhatIsPublic(t *testing.T) {
	for _, ip := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "198.18.0.1", "192.0.0.8",
		"::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1",
	} {
		require.False(t, publicaddr.Public(netip.MustParseAddr(ip)), ip)
	}
	for _, ip := range []string{"93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"} {
		require.True(t, publicaddr.Public(netip.MustParseAddr(ip)), ip)
	}
	require.EqualError(t, publicaddr.Control("tcp", "127.0.0.1:80", nil), "127.0.0.1 is not a public address")
	require.NoError(t, publicaddr.Control("tcp", "[2606:4700::1111]:443", nil))
	require.Error(t, publicaddr.Control("unix", "/run/x.sock", nil))
}
