package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// decided reports whether the command line says already what becomes of what is asked.
func (d *driver) decided(input *thread.Input) bool {
	if input.For == events.InputApproval {
		return d.flags.approve != ""
	}
	return d.flags.onInput != ""
}

// askPerson asks the person at the terminal what a run asks, and gives the run that goes on
// with the answer: nil where nothing was answered, or nobody can be asked.
func (d *driver) askPerson(ctx context.Context, r *runner.Runner, run *thread.Run) (*runner.Run, error) {
	input := question(run)
	in, isFile := d.app.in.(*os.File)
	_, _, keys := terminal(d.app.in)
	if input == nil || !isFile || !keys || !d.app.canDraw(d.app.err) || d.flags.json || d.decided(input) {
		return nil, nil
	}
	theme, w := d.app.theme(d.app.err), width(d.app.err)
	asked := thread.Message{Role: events.RoleAssistant, DisplayName: termview.DisplayName(run, input.Agent), Content: input.Question, Choices: input.Choices}
	if input.For == events.InputApproval {
		asked.Content = toApprove(input)
	}
	for _, line := range termview.Said(asked, theme, w) {
		fmt.Fprintln(d.app.err, line)
	}
	message := &runner.Message{ChannelType: channelTerminal, Actor: onCommandLine}
	text, err := d.app.typeAnswer(ctx, in, input, message)
	if err != nil || text == "" && message.Approval == nil {
		return nil, err
	}
	receipt, err := r.Send(ctx, runner.Job{
		Tenant: run.RunSummary.Tenant, Thread: run.RunSummary.Thread, Request: text, MaxWait: time.Duration(d.flags.maxWait), Message: message,
	})
	var wrong *runner.InputError
	if message.Approval != nil && errors.As(err, &wrong) { // arguments that do not fit: it still waits
		fmt.Fprintln(d.app.err, "! "+termview.Line(err.Error()))
		return d.askPerson(ctx, r, run)
	}
	return receipt.Run, errors.Join(err, receipt.Stalled)
}

// toApprove shows a person all that a call which waits for approval would do.
func toApprove(input *thread.Input) string {
	pretty := bytes.Buffer{}
	if json.Indent(&pretty, []byte(input.Action.Arguments), "", "  ") != nil {
		pretty.WriteString(input.Action.Arguments)
	}
	return fmt.Sprintf("May I call %s (%s)?\n\n```json\n%s\n```\n\n%s; e edits the arguments.", input.Action.Tool, input.Action.Effect, pretty.String(), howToDecide)
}

// oneLine gives arguments as a person edits them.
func oneLine(arguments string) string {
	compact := bytes.Buffer{}
	if json.Compact(&compact, []byte(arguments)) != nil {
		return arguments
	}
	return compact.String()
}

// typeAnswer has a person type an answer until it is one. Both are empty where they do not
// want to.
func (a *app) typeAnswer(ctx context.Context, in *os.File, input *thread.Input, message *runner.Message) (text string, err error) {
	prompt, start := "answer › ", ""
	if input.For == events.InputApproval {
		prompt = "approve? › "
	}
	for {
		typed, err := a.typeLine(ctx, in, prompt, start)
		if err != nil || typed == "" {
			return "", err
		}
		if start = ""; input.For == events.InputApproval && strings.EqualFold(strings.TrimSpace(typed), "e") {
			start = oneLine(input.Action.Arguments)
			continue
		}
		if text, err = answerTo(input, typed, message); err == nil {
			return text, nil
		}
		fmt.Fprintln(a.err, "! "+termview.Line(err.Error()))
	}
}

// typeLine has a person type a text, from what the line starts with. It is "" where they do not want to.
func (a *app) typeLine(ctx context.Context, in *os.File, prompt, start string) (text string, err error) {
	keys, err := newKeyboard(ctx, in, a.env("TERM"))
	if err != nil {
		return "", err
	}
	interrupts, picture, editor := a.interrupts(), newPicture(a.err, keyByKey(in, a.err)), lineedit.New(nil, nil)
	editor.Paste(start)
	ticker := time.NewTicker(tickInterval) // the line comes back after ^Z
	defer ticker.Stop()
	defer func() {
		err = errors.Join(err, picture.close(), keys.close())
		if err == nil && text != "" {
			_, err = fmt.Fprintf(a.err, "%s%s\n", prompt, termview.Line(text))
		}
	}()
	for {
		lines, row, column := editor.Lines(prompt, max(width(a.err)-1, len(prompt)+2))
		if err := picture.prompt(lines, row, column); err != nil {
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
		case <-ticker.C:
		case <-interrupts:
			return "", nil
		case <-ctx.Done():
			return "", nil
		}
	}
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
