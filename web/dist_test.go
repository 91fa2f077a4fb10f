package web_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/tsgen/types"
)

// The embedded page is what its sources build, byte for byte.
func TestDistIsWhatTheSourcesBuild(t *testing.T) {
	if _, err := os.Stat("node_modules"); err != nil {
		t.Skip("web/node_modules is not there: `npm ci` in web, then this test builds the page and compares")
	}
	out := t.TempDir()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	build := exec.Command("go", "run", ".", here, out)
	build.Dir = filepath.Join("..", "internal", "webbuild")
	for _, dir := range []string{"dist", "testdata"} {
		require.NoError(t, os.Mkdir(filepath.Join(out, dir), 0o755))
	}
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	built, err := fs.Glob(os.DirFS(out), "*/*")
	require.NoError(t, err)
	committed, err := filepath.Glob("dist/*")
	require.NoError(t, err)
	require.ElementsMatch(t, append(committed, "testdata/fold.js"), built, "make dashboard")
	for _, name := range built {
		want, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		have, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, have), "%s is not what the sources build: make dashboard", name)
	}
}

// The page's types of events are those of Go.
func TestTypesAreThoseOfGo(t *testing.T) {
	want, err := types.Generate()
	require.NoError(t, err)
	have, err := os.ReadFile("src/events.ts")
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "make generate rewrites it")
}

// Proves R71: the page is small.
func TestPageIsUnder150KB(t *testing.T) {
	var packed bytes.Buffer
	files, err := filepath.Glob("dist/*")
	require.NoError(t, err)
	for _, name := range files {
		if base := filepath.Base(name); base == "file.js" { // an export has it
			continue
		}
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		z := gzip.NewWriter(&packed)
		_, err = z.Write(body)
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	t.Logf("%d bytes, gzipped", packed.Len())
	require.Less(t, packed.Len(), 150<<10)
}

// No registry's address stands in the lock file: whoever installs says where from.
func TestLockFileNamesNoRegistry(t *testing.T) {
	body, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	require.NotContains(t, string(body), `"resolved"`)
}
