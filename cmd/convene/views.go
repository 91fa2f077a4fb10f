package main

import (
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// liveView draws the run in place on a terminal.
type liveView struct {
	*picture
	theme termview.Theme
	// lives gives what the agents do now; nil where only the log tells.
	lives func() []*agent.Live
	// signals brings the heartbeats of silent agents; slow are those that have been
	// silent for longer than expected, and when that was said.
	signals <-chan runner.Signal
	slow    map[events.DispatchID]time.Time
	drawn   bool
	// answer gives the lines of the answer that are not complete; nil where nobody follows it.
	answer func() []string
}

// event draws the first picture; from then on time does.
func (v *liveView) event(run *thread.Run, env events.Envelope) error {
	if v.drawn {
		return nil
	}
	v.drawn = true
	return v.tick(run, env.Time, "")
}

func (v *liveView) tick(run *thread.Run, now time.Time, notice string) error {
	width, height, _ := terminal(v.out)
	frame := termview.Frame{Run: run, Now: now, Width: width, Height: height, Notice: notice}
	if v.lives != nil {
		v.listen(now)
		frame.Active = activities(run, v.lives(), v.slow)
	} else {
		frame.Active = termview.Activities(run)
	}
	if v.answer != nil {
		frame.Open = v.answer()
	}
	return v.paint(termview.Render(frame, v.theme))
}

// listen takes in the heartbeats that came.
func (v *liveView) listen(now time.Time) {
	for {
		select {
		case s := <-v.signals:
			if s.Slow {
				if v.slow == nil {
					v.slow = map[events.DispatchID]time.Time{}
				}
				v.slow[s.Dispatch] = now
			}
		default:
			return
		}
	}
}

var doings = map[agent.Phase]termview.Doing{
	agent.PhaseQueued: termview.DoingQueued, agent.PhaseWaiting: termview.DoingWaiting,
	agent.PhaseThinking: termview.DoingThinking, agent.PhaseWriting: termview.DoingWriting,
	agent.PhaseRetrying: termview.DoingRetrying, agent.PhaseAway: termview.DoingAway, agent.PhaseTools: termview.DoingTools,
}

// activities puts what the agents do into the words of the view. An agent that was
// said to be slow is so until something comes from it.
func activities(run *thread.Run, lives []*agent.Live, slow map[events.DispatchID]time.Time) []termview.Activity {
	var active []termview.Activity
	for _, live := range lives {
		state := live.State()
		doing, known := doings[state.Phase]
		if !known {
			continue
		}
		if doing == termview.DoingTools && live.Dispatch == "" && len(run.Busy()) > 0 {
			doing = termview.DoingTeam
		}
		text := state.Tail
		if state.Phase == agent.PhaseTools {
			text = state.Progress
		}
		active = append(active, termview.Activity{
			Name: live.DisplayName, Doing: doing, Since: state.Since,
			Text: text, InCall: state.InCall, Slow: slow[live.Dispatch].After(state.Heard),
			RetryAt: state.RetryAt, Reason: shortReason(state.RetryReason), GiveUpAt: state.GiveUpAt,
		})
	}
	return active
}

var httpStatus = lazyregexp.New(`HTTP (\d{3})`)

// shortReason is the status where the endpoint gave one.
func shortReason(reason string) string {
	if match := httpStatus.FindStringSubmatch(reason); match != nil {
		return match[1]
	}
	return reason
}

// plainView writes a line for each thing that matters.
type plainView struct {
	out io.Writer
	// after is the last event that was shown by somebody else: a resumed run does not
	// tell its past again.
	after events.Seq
	// lives gives what the agents do now; nil where only the log tells.
	lives func() []*agent.Live
	// signals brings the heartbeats of silent agents.
	signals <-chan runner.Signal
	noticed string
	retries map[*agent.Live]time.Time
}

func (v *plainView) line(run *thread.Run, now time.Time, text string) error {
	_, err := fmt.Fprintf(v.out, "%5s  %s\n", termview.Duration(run.DrivenUntil(now)), text)
	return err
}

func (v *plainView) event(run *thread.Run, env events.Envelope) error {
	if env.Seq <= v.after {
		return nil
	}
	for _, text := range termview.Narrate(run, env) {
		if err := v.line(run, env.Time, text); err != nil {
			return err
		}
	}
	return nil
}

func (v *plainView) tick(run *thread.Run, now time.Time, notice string) error {
	if notice != v.noticed {
		v.noticed = notice
		if err := v.line(run, now, notice); err != nil {
			return err
		}
	}
	if err := v.tellRetries(run, now); err != nil {
		return err
	}
	for {
		select {
		case s := <-v.signals:
			if err := v.line(run, now, termview.Heartbeat(s.DisplayName, s.Silent, s.Slow)); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// tellRetries tells each wait for another attempt once.
func (v *plainView) tellRetries(run *thread.Run, now time.Time) error {
	if v.lives == nil {
		return nil
	}
	waiting := map[*agent.Live]time.Time{}
	for _, live := range v.lives() {
		state := live.State()
		if state.Phase != agent.PhaseRetrying {
			continue
		}
		waiting[live] = state.RetryAt
		if state.RetryAt.Equal(v.retries[live]) || state.RetryAt.Sub(now) < time.Second {
			continue
		}
		text := termview.Retrying(live.DisplayName, state.RetryAt.Sub(now), shortReason(state.RetryReason))
		if err := v.line(run, now, text); err != nil {
			return err
		}
	}
	v.retries = waiting
	return nil
}

func (v *plainView) close() error { return nil }

// jsonView writes the run's log as it commits.
type jsonView struct {
	out io.Writer
	// terminal is set where out is one: control characters are escaped then.
	terminal bool
}

func (v *jsonView) event(_ *thread.Run, env events.Envelope) error {
	body, err := events.Encode(env)
	if err != nil {
		return err
	}
	return writeJSONLine(v.out, body, v.terminal)
}

func writeJSONLine(out io.Writer, body []byte, terminal bool) error {
	if terminal {
		body = termview.JSONLine(body)
	}
	_, err := unaltered(out).Write(append(body[:len(body):len(body)], '\n'))
	return err
}

func (v *jsonView) tick(*thread.Run, time.Time, string) error { return nil }
func (v *jsonView) close() error                              { return nil }

// logView writes a structured log line for each event.
type logView struct{ logger zerolog.Logger }

func (v *logView) event(run *thread.Run, env events.Envelope) error {
	level := zerolog.InfoLevel
	switch env.Data.(type) {
	case events.ModelCalled, events.ToolCallDone, events.ToolStarted, events.UserMessage:
		level = zerolog.DebugLevel
	case events.Warning, events.LimitReached, events.DispatchRefused, events.EvidenceRefused:
		level = zerolog.WarnLevel
	case events.Error:
		level = zerolog.ErrorLevel
	}
	line := v.logger.WithLevel(level)
	if level < v.logger.GetLevel() {
		return nil
	}
	line = line.Str("tenant_id", string(env.Tenant)).Str("thread_id", string(env.Thread)).
		Str("run_id", string(env.Run)).Int64("seq", int64(env.Seq)).Time("event_time", env.Time)
	if env.Agent != "" {
		line = line.Str("agent", string(env.Agent)).Str("dispatch_id", string(env.Dispatch))
	}
	for _, text := range termview.Narrate(run, env) {
		line = line.Str("text", text)
	}
	line.Msg(string(env.Data.Kind()))
	return nil
}

func (v *logView) tick(*thread.Run, time.Time, string) error { return nil }
func (v *logView) close() error                              { return nil }
