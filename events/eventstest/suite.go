package eventstest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
)

// Open makes a fresh, empty log for one test. The suite closes it.
type Open func(t *testing.T) events.Log

// patience bounds every wait of the suite: what takes longer is stuck.
const patience = 2 * time.Minute

// Run holds a log against all that [events.Log] promises.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"append assigns place and reads back":       testAppend,
		"append is all or nothing":                  testAppendAtomic,
		"append refuses a wrong after":              testConflict,
		"append without a claim is fenced":          testFenced,
		"append of nothing":                         testAppendNothing,
		"append clamps time":                        testTime,
		"append races":                              testAppendRace,
		"a refused append fails alone":              testRefusedAlone,
		"claim is exclusive":                        testClaim,
		"take-over fences":                          testTakeOver,
		"release frees":                             testRelease,
		"first and last append claim and release":   testFirstAndLast,
		"claim refuses bad input":                   testClaimInput,
		"post needs no claim":                       testPost,
		"post takes postable kinds only":            testPostKinds,
		"post comes before the end of a run":        testPostToFinishedRun,
		"read pages":                                testReadPages,
		"read encoded is the wire form":             testReadEncoded,
		"read by kinds":                             testReadKinds,
		"wait for kinds":                            testWaitKinds,
		"last says where a thread ends":             testLast,
		"wait wakes":                                testWait,
		"wait ends with its context":                testWaitCancelled,
		"follow gives all once":                     testFollow,
		"followers do not spin":                     testFollowIdle,
		"tail gives all once over threads":          testTail,
		"tail filters":                              testTailFilter,
		"tail goes on from any cursor":              testTailCursor,
		"tail refuses a foreign cursor":             testTailForeignCursor,
		"tail ends with its context":                testTailCancelled,
		"a tail of the past ends":                   testTailPast,
		"bookmarks keep places":                     testBookmarks,
		"tenants are apart":                         testTenants,
		"summaries are folds over the events":       testSummaries,
		"runs are listed and searched":              testRuns,
		"runs page":                                 testRunsPage,
		"threads are listed by their newest runs":   testThreads,
		"runs are narrowed by team and model":       testRunsOf,
		"runs are found by cost and summed up":      testTotals,
		"a listing says what is waited for":         testAsks,
		"runs are found by prefix":                  testFindRun,
		"several runs in one thread":                testRunsOfThread,
		"batches are folds over the events":         testBatchSummaries,
		"batches are listed and searched":           testBatches,
		"batches are found by prefix":               testFindBatch,
		"batches of tenants are apart":              testBatchTenants,
		"rows of a batch are listed in their order": testBatchRows,
		"any facts of a batch fold as in memory":    testBatchProperty,
		"remove takes a thread away":                testRemove,
		"remove spares what is to be continued":     testRemoveRefused,
		"erase takes what is not over":              testErase,
		"rows go with their batch":                  testRemoveBatch,
		"a tail goes on over removed threads":       testRemoveTail,
		"a wait ends with its thread":               testRemoveWait,
		"artifacts are kept and read":               testArtifacts,
		"artifacts need a claim":                    testArtifactsClaimed,
		"artifacts stay while a thread has them":    testArtifactsShared,
		"close ends waits":                          testCloseWaiting,
		"a closed log refuses":                      testClosed,
		"an ended context refuses":                  testContext,
		"any interleaving keeps what was granted":   testInterleavings,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			t.Cleanup(cancel)
			log := open(t)
			t.Cleanup(func() { require.NoError(t, log.Close()) })
			test(t, &fixture{T: t, Log: log, ctx: ctx})
		})
	}
}

// fixture is a log under test with short ways to use it.
type fixture struct {
	*testing.T
	events.Log
	ctx context.Context
}

var threads atomic.Int64

// newKey gives a thread that no other test uses.
func newKey() events.ThreadKey {
	return events.ThreadKey{
		Tenant: events.LocalTenant,
		Thread: events.ThreadID(fmt.Sprintf("00000000-0000-4000-8000-%012d", threads.Add(1))),
	}
}

// newRun gives a run id that is higher than those before.
func newRun() events.RunID {
	return events.RunID(fmt.Sprintf("01900000-0000-7000-8000-%012d", threads.Add(1)))
}

// writer appends to one thread and knows where it is.
type writer struct {
	*fixture
	key   events.ThreadKey
	run   events.RunID
	epoch events.Epoch
	last  events.Seq
}

// claim takes a thread for "tester".
func (f *fixture) claim(key events.ThreadKey) *writer {
	f.Helper()
	epoch, err := f.Claim(f.ctx, key, "tester", false)
	require.NoError(f, err)
	return &writer{fixture: f, key: key, run: newRun(), epoch: epoch}
}

// begin claims a new thread and starts a run in it.
func (f *fixture) begin() *writer {
	f.Helper()
	w := f.claim(newKey())
	w.add(events.WorkflowStarted{Message: "a request", Team: "trip"})
	return w
}

// try appends without insisting.
func (w *writer) try(facts ...events.Event) error {
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: w.run, Data: fact}
	}
	err := w.Append(w.ctx, w.key, w.epoch, w.last, envs)
	if err == nil {
		w.last += events.Seq(len(facts))
	}
	return err
}

func (w *writer) add(facts ...events.Event) {
	w.Helper()
	require.NoError(w, w.try(facts...))
}

// all reads the whole thread.
func (f *fixture) all(key events.ThreadKey) []events.Envelope {
	f.Helper()
	envs, err := f.Read(f.ctx, key, 0, 0)
	require.NoError(f, err)
	return envs
}

// contiguous insists on seqs from first on without gaps.
func (f *fixture) contiguous(envs []events.Envelope, first events.Seq) {
	f.Helper()
	for i, env := range envs {
		require.Equal(f, first+events.Seq(i), env.Seq)
	}
}

func warning(format string, args ...any) events.Warning {
	return events.Warning{Code: "test", Message: fmt.Sprintf(format, args...)}
}
