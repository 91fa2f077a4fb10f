package batch_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
)

// askedClient tells of its first call.
type askedClient struct {
	llm.Client
	first func()
}

func (c *askedClient) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	c.first()
	return c.Client.Stream(ctx, req)
}

// Of many rows at once the first asks its model while the last are not even read.
func TestTheFirstOfManyRowsAsksBeforeTheLastIsStarted(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // with more, another one works on the rows meanwhile
	const many = 512
	var read, readAtFirst atomic.Int64
	first := sync.OnceFunc(func() { readAtFirst.Store(read.Load()) })
	client := &askedClient{sim.New(sim.Options{}), first}
	b, err := batch.New(batch.Config{Runner: newRunner(t, events.NewMemory(), client), Team: solo(t), Solo: true, Concurrency: many})
	require.NoError(t, err)
	report, err := b.Run(t.Context(), func(yield func(batch.Row, error) bool) {
		for i := range many {
			read.Add(1)
			if !yield(batch.Row{Index: i, ID: fmt.Sprint(i), Request: "Say hello"}, nil) {
				return
			}
		}
	}, batch.SinkFunc(func(batch.Output) error { return nil }))
	require.NoError(t, err)
	require.Equal(t, many, report.Completed)
	require.Less(t, readAtFirst.Load(), int64(many/2))
}
