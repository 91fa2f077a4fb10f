package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
)

// oldStore makes a store of before: threads of 30 events, two of them interleaved at a time,
// with one configuration, and a batch.
func oldStore(t *testing.T, path string, threads int) {
	t.Helper()
	log := open(t, path)
	text := config(t, 5000)
	for n := 0; n < threads; n += 2 {
		both := []events.ThreadKey{key(oldThread(n)), key(oldThread(n + 1))}
		var epochs []events.Epoch
		for _, key := range both {
			epoch, err := log.Claim(t.Context(), key, "tester", false)
			require.NoError(t, err)
			epochs = append(epochs, epoch)
		}
		for after := events.Seq(0); after < 30; after += 10 {
			for i, key := range both {
				envs := make([]events.Envelope, 10)
				for k := range envs {
					envs[k] = events.Envelope{Run: events.RunID(key.Thread), Data: events.Warning{Code: "step", Message: strings.Repeat(fmt.Sprint(k, " "), 20)}}
				}
				if after == 0 {
					envs[0].Data = events.WorkflowStarted{Message: "request", Config: json.RawMessage(text)}
				}
				require.NoError(t, log.Append(t.Context(), key, epochs[i], after, envs))
			}
		}
		for i, key := range both {
			require.NoError(t, log.Release(t.Context(), key, epochs[i]))
		}
	}
	appendBatch(t, log, "batch")
	require.NoError(t, log.Close())
	downgrade(t, path, 6)
}

func oldThread(n int) events.ThreadID { return events.ThreadID(fmt.Sprintf("old-%02d", n)) }

// everything is what a store has: the events of threads, in their order and over all.
func everything(t *testing.T, log *sqlite.Log, threads int) (all []any) {
	t.Helper()
	said := func(err error) error {
		var damaged *events.DamagedError
		if errors.As(err, &damaged) {
			return damaged // without the path
		}
		return err
	}
	for n := range threads {
		envs, err := log.ReadEncoded(t.Context(), key(oldThread(n)), 0, 0)
		all = append(all, envs, said(err))
	}
	var cursor events.Cursor
	for range 2 { // on behind what is damaged
		for item, err := range log.Tail(t.Context(), events.TailFilter{Past: true}, cursor) {
			all = append(all, item, said(err))
			cursor = item.Cursor
		}
	}
	runs, err := log.Runs(t.Context(), events.RunQuery{Limit: 1000})
	require.NoError(t, err)
	return append(all, runs)
}

// A store of before is packed beside its use, and says the same all the while; what is
// damaged stays as it is.
func TestOlderStoreIsPacked(t *testing.T) {
	const threads = 20
	path := filepath.Join(t.TempDir(), "convene.db")
	oldStore(t, path, threads)
	execute(t, path, "UPDATE facts SET body = CAST(replace(body, 'step', 'stop') AS BLOB) WHERE seq = 15 AND"+of("old-03"))
	// As it is read by this build before anything is packed.
	log, err := sqlite.OpenReadOnly(t.Context(), copyOf(t, path))
	require.NoError(t, err)
	truth := everything(t, log, threads)
	require.NoError(t, log.Close())
	require.Contains(t, fmt.Sprint(truth...), "is damaged")
	events, bytes := number(t, path, "SELECT count(*) FROM facts"), number(t, path, "SELECT sum(length(body)) FROM facts")

	log = open(t, path)
	for more := true; more; {
		require.Equal(t, truth, everything(t, log, threads))
		more, err = log.RepackSome()
		require.NoError(t, err)
	}
	require.Equal(t, truth, everything(t, log, threads))
	require.Zero(t, number(t, path, "SELECT count(*) FROM repacked"))
	require.Less(t, number(t, path, "SELECT count(*) FROM blocks"), events/8)
	require.Less(t, number(t, path, "SELECT sum(length(body)) FROM blocks"), bytes/8)
	require.Equal(t, 1, number(t, path, "SELECT count(*) FROM parts"))
	_, found := findings(t, log)
	require.Len(t, found, 1)
	steps(t, log, "new")
	for n := range threads {
		require.NoError(t, log.Erase(t.Context(), key(oldThread(n))))
	}
	require.Zero(t, number(t, path, "SELECT count(*) FROM parts"))
	require.NoError(t, log.Close())
}

// What fails while rows are packed is tried again, ever more rarely, until the log is closed.
func TestPackingGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes, start := []error{nil, io.ErrShortWrite, io.ErrShortWrite, nil, nil}, time.Now()
		sqlite.UntilPacked(nil, func() (more bool, err error) {
			err, outcomes = outcomes[0], outcomes[1:]
			return err == nil && len(outcomes) > 0, err
		})
		require.Empty(t, outcomes)
		require.Equal(t, (50+50+100+200+50)*time.Millisecond, time.Since(start))

		closing := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(closing) })
		attempts := 0
		sqlite.UntilPacked(closing, func() (bool, error) { attempts++; return false, io.ErrShortWrite })
		require.Less(t, attempts, 80)
		require.Greater(t, attempts, 60)
	})
}

// copyOf gives a copy of a store that nobody has open.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	execute(t, path, "VACUUM INTO '"+copied+"'")
	return copied
}

// childRepack packs the rows of before until it is killed, or there are none.
func childRepack(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	for more := true; more; {
		if more, err = log.RepackSome(); err != nil {
			return err
		}
		fmt.Println("packed")
	}
	return log.Close()
}

// A process that is killed while it packs leaves a store that is whole, and the next goes on;
// two do so at once.
func TestKilledWhilePacking(t *testing.T) {
	race.Processes(t)
	const threads = 60
	path := filepath.Join(t.TempDir(), "convene.db")
	oldStore(t, path, threads)
	log, err := sqlite.OpenReadOnly(t.Context(), copyOf(t, path))
	require.NoError(t, err)
	truth := everything(t, log, threads)
	require.NoError(t, log.Close())
	for range 2 {
		c := startChild(t, "repack", path)
		c.line("packed")
		c.kill()
	}
	require.NotZero(t, number(t, path, "SELECT count(*) FROM repacked"), "some are left")
	one, two := startChild(t, "repack", path), startChild(t, "repack", path)
	one.ends()
	two.ends()
	log = open(t, path)
	require.Zero(t, number(t, path, "SELECT count(*) FROM repacked"))
	require.Equal(t, truth, everything(t, log, threads))
	_, found := findings(t, log)
	require.Empty(t, found)
	require.NoError(t, log.Close())
}
