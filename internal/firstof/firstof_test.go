package firstof_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/firstof"
)

// It ends with each of them, whether somebody waits for it already or looks later, and the
// cause is that of the context itself where that ended.
func TestContextEndsWithTheFirst(t *testing.T) {
	why := errors.New("why")
	for _, waits := range []bool{false, true} {
		for ended := range 3 {
			synctest.Test(t, func(t *testing.T) {
				type key struct{}
				var all [3]context.Context
				var cancels [3]context.CancelCauseFunc
				for i := range all {
					all[i], cancels[i] = context.WithCancelCause(context.WithValue(context.Background(), key{}, i))
					defer cancels[i](nil)
				}
				ctx, stop := firstof.Context(all[0], all[1], all[2])
				defer stop()
				require.NoError(t, ctx.Err())
				woken := make(chan error, 1)
				if waits {
					go func() {
						<-ctx.Done()
						woken <- context.Cause(ctx)
					}()
					synctest.Wait()
					require.NoError(t, ctx.Err())
				}
				require.Equal(t, 0, ctx.Value(key{}))
				cancels[ended](why)
				synctest.Wait()
				require.Equal(t, context.Canceled, ctx.Err())
				<-ctx.Done()
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				want := context.Canceled
				if ended == 0 {
					want = why
				}
				require.Equal(t, want, context.Cause(ctx))
				require.Equal(t, want, context.Cause(child))
				if waits {
					require.Equal(t, want, <-woken)
				}
			})
		}
	}
}

// Nothing is left with the contexts once it is stopped, and nothing is made for who does not wait.
func TestContextCostsNothingUntilItIsWaitedFor(t *testing.T) {
	long, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, end := context.WithCancel(t.Context())
	defer end()
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		ctx, stop := firstof.Context(long, begun)
		_ = ctx.Err()
		stop()
	}), 3.0)
	ctx, stop := firstof.Context(long, begun)
	done := ctx.Done()
	stop()
	<-done
	stop()
	require.Equal(t, context.Canceled, ctx.Err())
	require.NoError(t, long.Err())
}
