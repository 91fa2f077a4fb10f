package runner_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
)

// What is to follow a run comes once, when it is no longer driven, whether that was asked for
// before its end or after.
func TestThen(t *testing.T) {
	for name, early := range map[string]bool{"asked for before the end": true, "asked for after it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := gate(llmtest.Script(t, untouched()...), alpha)
				run := start(t, owned(t, events.NewMemory(), client, "driver"))
				<-client.entered
				followed := make(chan events.Status, 2)
				then := func() {
					result, _ := run.Wait()
					followed <- result.Status
				}
				if early {
					run.Then(then)
				}
				synctest.Wait()
				require.Empty(t, followed, "the run is under way")
				require.NoError(t, run.Cancel("enough"))
				_, err := run.Wait()
				require.NoError(t, err)
				synctest.Wait()
				if !early {
					run.Then(then)
				}
				synctest.Wait()
				require.Len(t, followed, 1)
				require.Equal(t, events.StatusCancelled, <-followed)
			})
		})
	}
}
