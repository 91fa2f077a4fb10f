//go:build unix

package builtin

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// makeSpecial puts what is no regular file below a folder: a pipe that nobody writes to, a
// socket, and a link to a device.
func makeSpecial(t *testing.T, root string) []string {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(root, "device")))
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return []string{"pipe", "device", "s"}
}
