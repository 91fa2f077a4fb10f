package main

import (
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// answerView shows the answer of a run on a terminal while it is written: what is complete
// goes to stdout for good, what is not is for the picture below it.
type answerView struct {
	app    *app
	lives  func() []*agent.Live
	speech speech
	// print writes lines to stdout, above the picture where there is one.
	print func(lines []string) error
	// labelled is set once it was said that the run is simulated, begun while a part of a
	// text stands on stdout, done once all of the answer does.
	labelled, begun, done bool
}

func (d *driver) newAnswerView(lives func() []*agent.Live) *answerView {
	v := &answerView{app: d.app, lives: lives, speech: speech{theme: d.app.theme(d.app.out)}}
	v.print = d.app.printLines
	return v
}

// event completes what was begun with what the log has. A text of which nothing was printed
// yet is left to those who show results and words on the way.
func (v *answerView) event(_ *thread.Run, env events.Envelope) error {
	v.speech.settle(env)
	switch e := env.Data.(type) {
	case events.FinalAnswer:
		return v.complete(e.Content, true)
	case events.FacilitatorMessage:
		return v.complete(e.Content, false)
	case events.AgentMessage:
		if e.Agent == v.speech.agent {
			return v.complete(e.Content, false)
		}
	}
	return nil
}

func (v *answerView) complete(text string, final bool) error {
	rest, goesOn := v.speech.finish(text, width(v.app.out))
	switch {
	case !v.begun:
		return nil
	case !goesOn:
		return v.broken()
	}
	v.begun, v.done = false, final
	return v.print(append(rest, ""))
}

// broken says of what stands on stdout that it does not count.
func (v *answerView) broken() error {
	if !v.begun {
		return nil
	}
	v.begun = false
	return v.print(append(termview.BrokenOff(v.speech.theme, width(v.app.out)), ""))
}

func (v *answerView) tick(run *thread.Run, _ time.Time, _ string) error {
	if v.speech.listen(run, v.lives(), width(v.app.out)) {
		if err := v.broken(); err != nil {
			return err
		}
	}
	lines := v.speech.settled()
	if len(lines) == 0 {
		return nil
	}
	if label := termview.Label(run, v.speech.theme, width(v.app.out)); !v.labelled && len(label) > 0 {
		lines = append(append(label, ""), lines...)
	}
	v.labelled, v.begun = true, true
	return v.print(lines)
}

func (v *answerView) close() error { return v.broken() }
