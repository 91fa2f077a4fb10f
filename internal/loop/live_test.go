package loop_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// typist streams deltas and says after each what the time is for.
type typist struct {
	deltas []llm.Delta
	after  func(n int)
}

func (w *typist) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for i, delta := range w.deltas {
			if !yield(delta, nil) {
				return
			}
			w.after(i)
		}
		yield(llm.Delta{Done: &llm.Completion{Reply: events.Reply{Text: "done"}}}, nil)
	}
}

// typed plays the deltas to an agent, with a look at its Live after each.
func typed(t *testing.T, deltas []llm.Delta, look func(n int, live *agent.Live)) {
	t.Helper()
	tools, err := loop.NewToolset(nil)
	require.NoError(t, err)
	l := &loop.Loop{
		Spec: &loop.Spec{ID: "tester", DisplayName: "Tester", System: "You test.", Tools: tools, MaxToolCalls: 8, MaxResultChars: 4096},
		Role: &role{}, ID: thread.Facilitator, Run: "r", Journal: newJournal(t), Governor: free{}, Dispatcher: free{}, Live: &agent.Live{},
	}
	l.Caller = straight{&typist{deltas: deltas, after: func(n int) { look(n, l.Live) }}}
	require.NoError(t, l.Drive(t.Context()))
}

// reader puts together what it sees of a stream, as a page does.
type reader struct {
	seen  int64
	parts []string
	gaps  int
}

func (r *reader) look(live *agent.Live) {
	_, pieces := live.Stream()
	for _, piece := range pieces {
		end := piece.From + int64(len(piece.Text))
		if end <= r.seen {
			continue
		}
		if piece.From > r.seen {
			r.gaps++
		}
		if piece.Begins && piece.From >= r.seen {
			r.parts = append(r.parts, "")
		}
		r.parts[len(r.parts)-1] += piece.Text[max(0, r.seen-piece.From):]
		r.seen = end
	}
}

// Proves R71: who looks five times a second has all that the fastest endpoints write,
// texts and calls apart.
func TestStreamHasNoGapForWhoFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, looks = 12_000, 5
		chunk := strings.Repeat("ein größeres 漢字 🎈 ", 4)
		var deltas []llm.Delta
		want := []string{"", "", "", ""}
		for n := range 4 * 200 {
			part := n / 200
			want[part] += chunk
			switch part {
			case 0, 3:
				deltas = append(deltas, llm.Delta{Text: chunk})
			default:
				deltas = append(deltas, llm.Delta{Fragment: chunk, Index: part - 1})
			}
		}
		var r reader
		next := time.Now()
		typed(t, deltas, func(n int, live *agent.Live) {
			time.Sleep(time.Second * time.Duration(len(chunk)) / perSecond)
			if n == len(deltas)-1 || time.Now().After(next) {
				r.look(live)
				next = time.Now().Add(time.Second / looks)
			}
		})
		require.Equal(t, want, r.parts)
		require.Zero(t, r.gaps)
	})
}

// What one who has looked away for long has missed shows as a gap, and what nobody
// follows is not kept.
func TestStreamThatNobodyFollowsIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deltas []llm.Delta
		for range 1000 {
			deltas = append(deltas, llm.Delta{Text: "word of it 🎈 "})
		}
		var r reader
		typed(t, deltas, func(n int, live *agent.Live) {
			if n == 0 {
				r.look(live)
			}
			time.Sleep(10 * time.Millisecond)
			if n < len(deltas)-1 {
				return
			}
			r.look(live)
			require.Equal(t, 1, r.gaps)
			_, pieces := live.Stream()
			require.Len(t, pieces, 1)
			require.Less(t, len(pieces[0].Text), 1000)
			require.False(t, pieces[0].Begins)
			require.True(t, strings.HasSuffix(pieces[0].Text, "word of it 🎈 "))
			require.NotContains(t, pieces[0].Text, "\uFFFD")
			require.Equal(t, pieces[0].Text, live.State().Tail)
		})
	})
}

// A new attempt starts the stream over.
func TestStreamOfANewAttempt(t *testing.T) {
	deltas := []llm.Delta{
		{Sent: 1}, {Text: "first"}, {Fragment: `{"a":1`}, {Retry: &llm.Retry{Attempt: 1}}, {Sent: 2}, {Fragment: `{"b":`, Index: 1},
	}
	looks := map[int][]agent.Piece{
		2: {{From: 0, Text: "first", Begins: true}, {From: 5, Text: `{"a":1`, InCall: true, Begins: true}},
		3: nil,
		5: {{From: 0, Text: `{"b":`, InCall: true, Begins: true}},
	}
	typed(t, deltas, func(n int, live *agent.Live) {
		state, pieces := live.Stream()
		if want, ok := looks[n]; ok {
			require.Equal(t, want, pieces, "after delta %d", n)
			require.Equal(t, n == 5, state.Attempt == 2)
		}
	})
}
