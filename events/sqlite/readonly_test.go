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
	copyBinary(t, os.Args[0], binary)
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

func copyBinary(t *testing.T, from, to string) {
	in, err := os.Open(from)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// What cannot be written can be read: a store as it should be, one of before, and one that
// a killed process left with events in its write-ahead log. Nothing is made beside it.
func TestReadOnlyIsRead(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs another user, which takes root")
	}
	dir, err := os.MkdirTemp("", "readonly") //nolint:usetesting // nobody may not enter the folders above t.TempDir()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	binary := filepath.Join(dir, "test")
	copyBinary(t, os.Args[0], binary)
	for name, prepare := range map[string]func(path string){
		"as it should be": func(string) {},
		"of before":       func(path string) { downgrade(t, path, 1) },
		"left by a killed process": func(path string) {
			c := startChild(t, "hold", path)
			c.line("held")
			log := open(t, path)
			steps(t, log, "b")
			// As a power cut would leave it: with what SQLite has not moved yet.
			for _, suffix := range []string{"", "-wal"} {
				copyBinary(t, path+suffix, path+suffix+".kept")
			}
			require.NoError(t, log.Close())
			c.kill()
			require.NoError(t, os.RemoveAll(path+"-shm"))
			for _, suffix := range []string{"", "-wal"} {
				require.NoError(t, os.Rename(path+suffix+".kept", path+suffix))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(dir, name)
			path := filepath.Join(folder, "convene.db")
			log := open(t, path)
			steps(t, log, "a")
			require.NoError(t, log.Close())
			prepare(path)
			require.NoError(t, filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
				require.NoError(t, err)
				return os.Chmod(name, map[bool]os.FileMode{true: 0o755, false: 0o644}[info.IsDir()])
			}))
			before, err := os.ReadDir(folder)
			require.NoError(t, err)
			cmd := exec.Command(binary)
			cmd.Dir = "/"
			cmd.Env = append(os.Environ(), childEnv+"=read:"+path, "TMPDIR=/tmp")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), `run-a 10 ""`)
			require.Contains(t, string(out), "refused change store "+path+": the file cannot be written")
			if name == "left by a killed process" {
				require.Contains(t, string(out), `run-b 10 ""`)
			}
			after, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Equal(t, len(before), len(after), "nothing is made beside it")
		})
	}
}
