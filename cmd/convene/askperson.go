package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/convene-run/convene/cmd/internal/lineedit"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/thread"
)

// question is what the user of a run can answer, nil where nothing is asked, or a person is
// to answer in an agent's place.
func question(run *thread.Run) *thread.Input {
	if run.Status != events.StatusAwaitingInput {
		return nil
	}
	for _, input := range run.Thread().Inputs() {
		if input.For != events.InputHuman {
			return input
		}
	}
	return nil
}

// askPerson asks the person at the terminal what a run asks, and gives the run that goes on
// with the answer: nil where nothing was answered, or nobody can be asked.
func (d *driver) askPerson(ctx context.Context, r *runner.Runner, run *thread.Run) (*runner.Run, error) {
	input := question(run)
	in, isFile := d.app.in.(*os.File)
	_, _, keys := terminal(d.app.in)
	if input == nil || !isFile || !keys || !d.app.canDraw(d.app.err) || d.flags.json || d.flags.onInput != "" {
		return nil, nil
	}
	theme, w := d.app.theme(d.app.err), width(d.app.err)
	asked := thread.Message{Role: events.RoleAssistant, DisplayName: termview.DisplayName(run, input.Agent), Content: input.Question, Choices: input.Choices}
	for _, line := range termview.Said(asked, theme, w) {
		fmt.Fprintln(d.app.err, line)
	}
	text, err := d.app.typeLine(ctx, in, "answer › ")
	if err != nil || text == "" {
		return nil, err
	}
	text = chosen(input.Choices, text)
	receipt, err := r.Send(ctx, runner.Job{
		Tenant: run.RunSummary.Tenant, Thread: run.RunSummary.Thread, Request: text, MaxWait: time.Duration(d.flags.maxWait),
		Message: &runner.Message{ChannelType: channelTerminal, Delivery: events.DeliveryAnswer, InputID: input.InputID},
	})
	return receipt.Run, errors.Join(err, receipt.Stalled)
}

// typeLine has a person type a text. It is "" where they do not want to.
func (a *app) typeLine(ctx context.Context, in *os.File, prompt string) (text string, err error) {
	keys, err := newKeyboard(ctx, in, a.env("TERM"))
	if err != nil {
		return "", err
	}
	interrupts, painter, editor := a.interrupts(), termview.NewPainter(a.err), lineedit.New(nil, nil)
	_, err = io.WriteString(a.err, pasteOn)
	defer func() {
		_, printed := io.WriteString(a.err, pasteOff)
		err = errors.Join(err, painter.Clear(width(a.err)), printed, keys.close())
		if err == nil && text != "" {
			_, err = fmt.Fprintf(a.err, "%s%s\n", prompt, termview.Line(text))
		}
	}()
	for err == nil {
		lines, row, column := editor.Lines(prompt, max(width(a.err)-1, len(prompt)+2))
		if err := painter.PaintPrompt(lines, width(a.err), row, column); err != nil {
			return "", err
		}
		select {
		case event, ok := <-keys.events:
			action := lineedit.End
			if ok {
				action = pressed(editor, event)
			}
			switch {
			case action == lineedit.End || action == lineedit.Interrupt:
				return "", nil
			case action == lineedit.Submit && strings.TrimSpace(editor.Text()) != "":
				return editor.Take(), nil
			}
		case <-keys.woken:
			err = keys.wake()
		case <-interrupts:
			return "", nil
		case <-ctx.Done():
			return "", nil
		}
	}
	return "", err
}

// pressed takes what a keyboard sent.
func pressed(editor *lineedit.Editor, event uv.Event) lineedit.Action {
	switch event := event.(type) {
	case uv.KeyPressEvent:
		return editor.Key(uv.Key(event))
	case uv.PasteEvent:
		editor.Paste(event.Content)
	}
	return lineedit.None
}

// answerCommand is how what a parked run asks is answered.
func (d *driver) answerCommand(run *thread.Run) string {
	command := "convene chat --thread " + string(run.RunSummary.Thread)
	if question(run) == nil {
		command = "convene chat --as human --thread " + string(run.RunSummary.Thread)
	}
	command += d.atEndpoint()
	if d.app.flags.store != "" {
		command += fmt.Sprintf(" --store %q", d.app.flags.store)
	}
	return command
}
