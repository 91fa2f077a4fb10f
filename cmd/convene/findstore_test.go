//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only a store of the user's own is taken, wherever it lies: another user can put one into
// a folder above. Nor is one beyond a mount.
func TestNearestStoreIsTheUsersOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const nobody = 65534
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	for _, dir := range []string{top, below} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, storeDir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, storeDir, storeFile), nil, 0o644))
	}
	t.Setenv("HOME", top)
	t.Chdir(below)
	near, far := filepath.Join(storeDir, storeFile), filepath.Join(top, storeDir, storeFile)
	require.Equal(t, near, nearestStore())
	for _, given := range []string{near, storeDir} {
		require.NoError(t, os.Chown(given, nobody, -1))
		require.Equal(t, far, nearestStore(), given)
		require.True(t, foreignStore(), given)
		require.NoError(t, os.Chown(given, 0, -1))
		require.False(t, foreignStore(), given)
	}
	require.NoError(t, os.Remove(near))
	require.Equal(t, far, nearestStore())
	require.NoError(t, os.Chown(far, nobody, -1))
	require.Empty(t, nearestStore())
}
