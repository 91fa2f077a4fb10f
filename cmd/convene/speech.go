package main

import (
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// speech is what whoever has the floor is saying to the user: the text of a model call
// while it streams, which may turn out to be the answer, a word beside tool calls, or
// nothing that counts. It is lossy until the log says what was said.
type speech struct {
	theme termview.Theme
	// run, call and attempt are what is listened to; done is the call that the log has the
	// reply of already.
	run     events.RunID
	call    events.ModelCallID
	attempt int
	done    events.ModelCallID
	agent   events.AgentID
	stream  *termview.Stream
	// next is where the next piece begins; deaf is set once one was missed, or the text
	// has ended.
	next int64
	deaf bool
}

// listen takes in what the agent with the floor has written since, and reports whether
// what was heard before is void: its attempt failed, and another begins.
func (s *speech) listen(run *thread.Run, lives []*agent.Live, width int) (void bool) {
	live := speaker(run, lives)
	if live == nil {
		return false
	}
	state, pieces := live.Stream()
	if run.ID != s.run {
		s.run, s.call, s.done = run.ID, "", ""
	}
	if state.Call == "" || state.Call == s.done {
		return false
	}
	if state.Call != s.call || state.Attempt != s.attempt {
		void = s.stream != nil && s.stream.Text() != ""
		s.begin(state, live.Agent, width)
	}
	s.take(pieces)
	return void
}

func (s *speech) begin(state agent.LiveState, id events.AgentID, width int) {
	s.call, s.attempt, s.agent = state.Call, state.Attempt, id
	s.stream, s.next, s.deaf = termview.NewStream(s.theme, width), 0, false
}

func (s *speech) take(pieces []agent.Piece) {
	for _, piece := range pieces {
		end := piece.From + int64(len(piece.Text))
		if s.deaf || end <= s.next {
			continue
		}
		if piece.InCall || piece.From > s.next {
			s.deaf = true // calls follow, or something was missed: the log has the rest
			return
		}
		s.stream.Write(piece.Text[s.next-piece.From:])
		s.next = end
	}
}

// speaker is the agent that has the floor.
func speaker(run *thread.Run, lives []*agent.Live) *agent.Live {
	dispatch := events.DispatchID(run.Floor())
	if run.Floor() == thread.Facilitator {
		dispatch = ""
	}
	for _, live := range lives {
		if live.Dispatch == dispatch {
			return live
		}
	}
	return nil
}

// settle is told what the log has: the reply of the call that was listened to is complete.
func (s *speech) settle(env events.Envelope) {
	if called, ok := env.Data.(events.ModelCalled); ok && env.Run == s.run && called.ID == s.call {
		s.done = called.ID
	}
}

// finish gives the lines of a text in the log that were not printed while it streamed, and
// whether they go on from those that were. What streams next is another text.
func (s *speech) finish(text string, width int) (rest []string, goesOn bool) {
	stream := s.stream
	s.stream = nil
	if stream != nil && strings.HasPrefix(text, stream.Text()) {
		stream.Write(text[len(stream.Text()):])
		return stream.End(), true
	}
	stream = termview.NewStream(s.theme, width)
	stream.Write(text)
	return stream.End(), false
}

// settled gives the lines that are complete since the last call, open those that are not.
func (s *speech) settled() []string {
	if s.stream == nil {
		return nil
	}
	return s.stream.Settled()
}

func (s *speech) open() []string {
	if s.stream == nil || s.stream.Text() == "" {
		return nil
	}
	return s.stream.Open()
}
