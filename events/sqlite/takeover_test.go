package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// requireHeld insists that nobody but the holder of the child process gets its thread.
func requireHeld(t *testing.T, path string) {
	t.Helper()
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	_, err := log.Claim(t.Context(), sharedKey, "second", false)
	require.ErrorIs(t, err, events.ErrHeld)
	owner, _, err := log.Holder(t.Context(), sharedKey)
	require.NoError(t, err)
	require.Equal(t, events.Owner("holder"), owner)
}

// requireFree insists that the thread can be claimed.
func requireFree(t *testing.T, path string, key events.ThreadKey) {
	t.Helper()
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	owner, _, err := log.Holder(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, owner)
	_, err = log.Claim(t.Context(), key, "heir", false)
	require.NoError(t, err)
}

// A live run stays its owner's by whatever name the store is opened: links to the file,
// to its folder, and one that was there before the store was.
func TestLinkedStoreIsTheSame(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "real", "convene.db")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	before := filepath.Join(dir, "before.db")
	require.NoError(t, os.Symlink(path, before))
	c := startChild(t, "hold", before)
	c.line("held")
	require.NoDirExists(t, before+"-owners")
	requireHeld(t, path)
	file, folder := filepath.Join(dir, "sub", "file.db"), filepath.Join(dir, "folder")
	require.NoError(t, os.Symlink(filepath.Join("..", "real", "convene.db"), file))
	require.NoError(t, os.Symlink("real", folder))
	linked := filepath.Join(dir, "deep")
	require.NoError(t, os.Symlink(filepath.Join("sub", "deep"), linked))
	upwards := filepath.Join(linked, "up.db")
	require.NoError(t, os.Symlink(filepath.Join("..", "..", "before.db"), upwards))
	for _, name := range []string{file, filepath.Join(folder, "convene.db"), upwards} {
		requireHeld(t, name)
	}
	require.NoDirExists(t, file+"-owners")
	circle := filepath.Join(dir, "circle.db")
	require.NoError(t, os.Symlink(circle, circle))
	_, err := sqlite.Open(t.Context(), circle)
	require.ErrorContains(t, err, circle)
	c.kill()
	requireFree(t, file, sharedKey)
}

// A file with a second name is refused: SQLite keeps the newest events in a file beside
// the name that it was opened by.
func TestHardLinkIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	require.NoError(t, open(t, path).Close())
	require.NoError(t, os.Link(path, path+"2"))
	_, err := sqlite.Open(t.Context(), path+"2")
	require.ErrorIs(t, err, sqlite.ErrLinked)
	require.ErrorContains(t, err, "2 names")
	require.NoError(t, os.Remove(path))
	require.NoError(t, open(t, path+"2").Close())
}

// Somebody tidies the owners away while a run is driven: nobody takes it over while its
// process lives, and once that is dead anybody may.
func TestRemovedOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	c := startChild(t, "hold", path)
	c.line("held")
	viewer := open(t, path)
	require.NoError(t, os.RemoveAll(path+"-owners"))
	requireHeld(t, path)
	requireHeld(t, path)
	owner, _, err := viewer.Holder(t.Context(), sharedKey)
	require.NoError(t, err)
	require.Equal(t, events.Owner("holder"), owner)
	require.NoError(t, viewer.Close())
	requireHeld(t, path)
	c.kill()
	requireFree(t, path, sharedKey)
}

// A second log of the same process takes no lock of the first one's away: another process
// still sees that it lives.
func TestSecondLogKeepsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	_, err := log.Claim(t.Context(), sharedKey, "holder", false)
	require.NoError(t, err)
	second := open(t, path)
	require.NoError(t, os.RemoveAll(path+"-owners"))
	c := startChild(t, "hold", path)
	require.Contains(t, c.line("error"), "held by holder")
	require.NoError(t, second.Close())
	c = startChild(t, "hold", path)
	require.Contains(t, c.line("error"), "held by holder")
}

// A process whose owner file is gone makes another when it claims again, so that others
// see at once when it dies.
func TestOwnerFileIsMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	watcher := open(t, path)
	defer func() { require.NoError(t, watcher.Close()) }()
	c := startChild(t, "hold", path)
	c.line("held")
	require.NoError(t, os.RemoveAll(path+"-owners"))
	_, err := c.stdin.Write([]byte("again\n"))
	require.NoError(t, err)
	c.line("held again")
	requireHeld(t, path)
	c.kill()
	owner, _, err := watcher.Holder(t.Context(), sharedKey)
	require.NoError(t, err)
	require.Empty(t, owner)
	_, err = watcher.Claim(t.Context(), sharedKey, "heir", false)
	require.NoError(t, err)
}

// A copy of the file alone, taken while runs were driven, is nobody's.
func TestCopiedStoreIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	c := startChild(t, "hold", path)
	c.line("held")
	c.kill()
	requireNoOwners := func() {
		entries, err := os.ReadDir(path + "-owners")
		require.NoError(t, err)
		require.Len(t, entries, 2, "the lock for opening and the dead one's")
	}
	requireNoOwners()
	require.NoError(t, os.RemoveAll(path+"-owners"))
	requireFree(t, path, sharedKey)
}
