package agent

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/plainjson"
	"github.com/convene-run/convene/llm"
)

// Tool is something an agent may call: how the model sees it, and what it does.
type Tool struct {
	llm.Tool
	Handler Handler
}

// Handler is what a tool does: an [External]. convene has other kinds for its own tools, and
// runs no kind that it does not know.
type Handler interface{ ToolHandler() }

// External is a tool that reaches outside the log.
type External struct {
	// Effect says what repeating a call would do; the zero value is effectful.
	Effect events.Effect
	// Call runs it. An error is a result that the model reads. The context ends when the
	// run or the agent must, and when the call has said nothing for tool_timeout: see
	// [Invocation.Progress]. A call that ignores this is left behind.
	Call func(ctx context.Context, in Invocation) (Result, error)
}

// ToolHandler implements [Handler].
func (External) ToolHandler() {}

// Invocation is one call of a tool with arguments that match its schema.
type Invocation struct {
	// Run is the run that the call belongs to, and Traceparent the span of others which that
	// run is part of, as W3C Trace Context writes it; "" for none.
	Run         events.RunID
	Traceparent string
	Agent       events.AgentID
	Dispatch    events.DispatchID
	Tool        string
	Ref         events.CallRef
	// Time is when the call was decided, by the clock of the run.
	Time time.Time
	// MaxResultChars is how much of the result's text the model is shown; 0 for no bound. What
	// is longer becomes an artifact.
	MaxResultChars int
	// Artifacts are the files that there are.
	Artifacts Artifacts
	// Folder is the run's own folder, if it has one.
	Folder Folder

	// progress is what Report does, nil for a call that nobody waits for.
	progress func(words string)
}

// Progress says that an external call gets on: tool_timeout and the silence of its
// agent restart. It is safe for concurrent use; once the call is over it does
// nothing.
func (in Invocation) Progress() { in.Report("") }

// Report is [Invocation.Progress] with words for those who watch, such as "3 of 6": the newest
// are shown for as long as the call runs, and kept nowhere.
func (in Invocation) Report(words string) {
	if in.progress != nil {
		in.progress(words)
	}
}

// WithProgress gives the call with what [Invocation.Report] does: what runs a tool sets it.
func (in Invocation) WithProgress(progress func(words string)) Invocation {
	in.progress = progress
	return in
}

// Decode reads the arguments into v.
func (in Invocation) Decode(v any) error {
	arguments := in.Ref.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}" // a call without arguments
	}
	if plainjson.Decode(arguments, v) {
		return nil
	}
	return json.Unmarshal([]byte(arguments), v)
}

// Result is what a tool answers to the model.
type Result struct {
	// Text is what the model reads, cut at the team's max_tool_result_chars; the
	// whole is then an artifact.
	Text string
	// Failed marks an answer that tells the model what it did wrong.
	Failed bool
	// Parts are what the result has beside Text, behind it and in order: images, files,
	// more text. A model that takes text alone reads notes of the others.
	Parts []events.Part
	// Files are kept beside the log; the model is told of each, and shown images.
	Files []File
	// Sources are what Text was taken from: who quotes from it may name them. None means the
	// tool itself.
	Sources []events.Source
	// Shown are the document entries that Text shows.
	Shown []document.Shown
}

// Refuse is a result that tells the model what was wrong and what to do.
func Refuse(err error) Result { return Result{Text: "Error: " + err.Error(), Failed: true} }
