package batch_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
)

// Proves R72: two processes with two stores cannot write into one output: the second is
// refused with who has it, and neither pays for the other's rows.
func TestOneOutputTwoStores(t *testing.T) {
	race.Processes(t)
	model, baseURL := serve(t, sim.Options{FirstToken: 50 * time.Millisecond})
	w := work{Dir: t.TempDir(), BaseURL: baseURL, Input: write(t, "in.jsonl", requests(12)...), Team: leanTeam, Solo: true, Concurrency: 2}
	other, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "other.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	config, err := w.config(other)
	require.NoError(t, err)

	cmd, _, stderr := w.start(t, "")
	require.Eventually(t, func() bool { return model.Report().Requests > 2 }, time.Minute, time.Millisecond)
	_, err = batch.Open(t.Context(), batch.Files{Input: w.Input, Output: w.output()}, config)
	var held *events.HeldError
	require.ErrorAs(t, err, &held)
	require.NotEmpty(t, held.Owner)
	require.WithinDuration(t, time.Now(), held.Since, time.Minute)
	require.ErrorContains(t, err, "out.jsonl")

	require.NoError(t, cmd.Wait(), "%s", stderr)
	require.Len(t, outputs(t, w.output()), 12)
	require.Equal(t, 12, model.Report().Requests)
}

// However an output is named, it is one: a link to it leads to the same batch.
func TestOneOutputTwoNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"link.jsonl", "link-to-link.jsonl"} {
		target := map[string]string{"link.jsonl": "out.jsonl", "link-to-link.jsonl": "link.jsonl"}[name]
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	in, c := write(t, "in.jsonl", requests(3)...), config(t, events.NewMemory())
	held, err := batch.Open(t.Context(), batch.Files{Input: in, Output: filepath.Join(dir, "link-to-link.jsonl")}, c)
	require.NoError(t, err)
	_, err = batch.Open(t.Context(), batch.Files{Input: in, Output: filepath.Join(dir, "out.jsonl")}, config(t, events.NewMemory()))
	require.ErrorIs(t, err, events.ErrHeld)
	_, err = held.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, outputs(t, filepath.Join(dir, "out.jsonl")), 3)
	report, err := run(t, batch.Files{Input: in, Output: filepath.Join(dir, "out.jsonl")}, c)
	require.NoError(t, err)
	require.Equal(t, 3, report.Completed, "it is the same batch")
	info, err := os.Lstat(filepath.Join(dir, "link.jsonl"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink)
}

// A batch that could not begin leaves nothing, and does not lock out the next.
func TestRefusedBatchLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	files := batch.Files{Input: filepath.Join(dir, "missing.jsonl"), Output: filepath.Join(dir, "out.jsonl")}
	for range 2 {
		_, err := run(t, files, config(t, events.NewMemory()))
		require.ErrorContains(t, err, "missing.jsonl")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// A batch goes on in the store that it was begun in. Another one, which knows nothing of
// its runs, is refused, and the one that is wanted is named.
func TestBatchKeepsToItsStore(t *testing.T) {
	dir := t.TempDir()
	files := batch.Files{Input: write(t, "in.jsonl", requests(5)...), Output: filepath.Join(dir, "out.jsonl")}
	first := events.NewMemory()
	c := config(t, first)
	c.Store, c.MaxFailures = "/data/first.db", batch.MaxFailures{Count: 1}
	_, err := run(t, files, c)
	require.NoError(t, err)
	store, err := batch.StoreOf(files.Output)
	require.NoError(t, err)
	require.Equal(t, "/data/first.db", store)

	files.Input = write(t, "more.jsonl", requests(7)...)
	other := config(t, events.NewMemory())
	other.Store = "/elsewhere/other.db"
	_, err = batch.Open(t.Context(), files, other)
	var another *batch.StoreError
	require.ErrorAs(t, err, &another)
	require.Equal(t, batch.StoreError{Output: files.Output, Begun: "/data/first.db", Now: "/elsewhere/other.db"}, *another)
	require.Len(t, outputs(t, files.Output), 5)

	moved := config(t, first)
	moved.Store = "/data/moved.db"
	report, err := run(t, files, moved)
	require.NoError(t, err, "a store that was moved still knows the batch")
	require.Equal(t, 7, report.Completed)
	store, err = batch.StoreOf(files.Output)
	require.NoError(t, err)
	require.Equal(t, "/data/moved.db", store)

	files.Fresh = true
	report, err = run(t, files, other)
	require.NoError(t, err)
	require.Equal(t, 7, report.Completed)
	store, err = batch.StoreOf(filepath.Join(dir, "none.jsonl"))
	require.NoError(t, err)
	require.Empty(t, store)
}

// What --fresh removes is removed only once the new batch can begin.
func TestFreshKeepsTheOldOutputUntilTheBatchCanBegin(t *testing.T) {
	dir := t.TempDir()
	c := config(t, events.NewMemory())
	files := batch.Files{Input: write(t, "in.jsonl", requests(5)...), Output: filepath.Join(dir, "out.jsonl")}
	_, err := run(t, files, c)
	require.NoError(t, err)
	before, err := os.ReadFile(files.Output)
	require.NoError(t, err)
	for name, wrong := range map[string]string{
		"no input":  filepath.Join(dir, "missing.jsonl"),
		"equal ids": write(t, "twice.jsonl", `{"id":"a","request":"x"}`, `{"id":"a","request":"y"}`),
	} {
		t.Run(name, func(t *testing.T) {
			again := files
			again.Input, again.Fresh = wrong, true
			_, err := run(t, again, c)
			require.Error(t, err)
			after, err := os.ReadFile(files.Output)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after))
			report, err := run(t, files, c)
			require.NoError(t, err)
			require.Equal(t, 5, report.Completed)
		})
	}
}
