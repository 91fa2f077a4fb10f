//go:build unix

package sqlite_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events/sqlite"
)

// nobody is a user who owns nothing.
const nobody = 65534

func TestOpenReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		readOnlyAsNobody(t)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "convene.db")
	require.NoError(t, open(t, path).Close())
	require.NoError(t, os.Chmod(path, 0o400))
	_, err := sqlite.Open(t.Context(), path)
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	require.NoError(t, os.Chmod(dir, 0o500))
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "other.db"))
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	require.NoError(t, os.Chmod(dir, 0o700))
}

// readOnlyAsNobody shows the same in a second process, since root may write
// everywhere.
func readOnlyAsNobody(t *testing.T) {
	dir, err := os.MkdirTemp("", "readonly") //nolint:usetesting // nobody may not enter the folders above t.TempDir()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "convene.db")
	require.NoError(t, open(t, path).Close())
	require.NoError(t, os.Chmod(path, 0o644))
	binary := filepath.Join(dir, "test")
	copyFile(t, os.Args[0], binary)
	for _, path := range []string{path, filepath.Join(dir, "other.db"), filepath.Join(dir, "sub", "other.db")} {
		cmd := exec.Command(binary)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), childEnv+"=open:"+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), sqlite.ErrReadOnly.Error())
		require.Contains(t, string(out), path)
		require.NoFileExists(t, filepath.Join(dir, "other.db"))
	}
}

func copyFile(t *testing.T, from, to string) {
	in, err := os.Open(from)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
