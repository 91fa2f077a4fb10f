package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// view is a run as callers see it.
type view struct {
	Run    events.RunID    `json:"run_id"`
	Thread events.ThreadID `json:"thread_id"`
	Team   string          `json:"team"`
	Status events.Status   `json:"status" jsonschema:"running, suspended, awaiting_input, interrupted, completed, degraded (parts are missing), failed or cancelled"`
	Reason string          `json:"reason,omitempty" jsonschema:"Why it is not completed."`
	Limit  events.Limit    `json:"limit,omitempty" jsonschema:"The limit that was reached."`
	Answer string          `json:"answer,omitempty" jsonschema:"The final answer, as Markdown."`
	Data   any             `json:"data,omitempty" jsonschema:"The answer as JSON, where the team gives one."`
	// Document and Basis are what get_run gives alone: a model that only wants the answer
	// does not pay for them.
	Document      string           `json:"document,omitempty" jsonschema:"The team's shared document, as Markdown."`
	Basis         []evidence.Basis `json:"basis,omitempty" jsonschema:"Passages that answer and document rest on."`
	Tasks         int              `json:"tasks"`
	FinishedTasks int              `json:"finished_tasks"`
	Missing       []string         `json:"missing,omitempty" jsonschema:"The tasks that are open."`
	WaitsFor      []ask            `json:"waits_for,omitempty" jsonschema:"What a person is asked."`
	CostUSD       *float64         `json:"cost_usd" jsonschema:"Null where a model has no known price."`
	InputTokens   int64            `json:"input_tokens"`
	OutputTokens  int64            `json:"output_tokens"`
	ModelCalls    int              `json:"model_calls"`
	DrivenMS      int64            `json:"driven_ms" jsonschema:"For how long it was worked on."`
	LastSeq       events.Seq       `json:"last_seq" jsonschema:"The seq of its newest event."`
	Simulated     bool             `json:"simulated,omitempty" jsonschema:"Set where no real model answered: texts are made up."`
}

// ask is a request for input that is open.
type ask struct {
	InputID  events.InputID   `json:"input_id"`
	Kind     events.InputKind `json:"kind" jsonschema:"question, approval (of a tool call) or human (a person has the conversation)"`
	Question string           `json:"question"`
}

// maxDocumentChars bounds the document that get_run gives: more than that no model reads at once.
const maxDocumentChars = 100_000

// statusInterrupted is of a run whose process ended without parking it.
const statusInterrupted events.Status = "interrupted"

// find gives a run of a team that is served, and that the caller may see and, where the tool
// does, change. Others do not exist for callers.
func (s *Server) find(ctx context.Context, c *call, id string) (events.RunSummary, error) {
	run, err := s.config.Log.FindRun(ctx, c.who.Tenant, id)
	if errors.Is(err, events.ErrNotFound) || errors.Is(err, events.ErrAmbiguous) || err == nil && (string(run.Run) != id || !s.offers(run.Team) || !c.who.Sees(run.UserID)) {
		s.refused(ctx, c, "")
		return events.RunSummary{}, refuse("there is no run %.100q of the teams that are served here (%s): give its whole id", id, s.names())
	}
	if err == nil && c.door.changes && !c.who.Changes(run.UserID) {
		err = s.missing(ctx, c, access.OthersAct)
	}
	return run, err
}

// look gives a run as it stands, whole or as somebody reads it who waits for the answer.
func (s *Server) look(ctx context.Context, c *call, id string, whole bool) (view, error) {
	found, err := s.find(ctx, c, id)
	if err != nil {
		return view{}, err
	}
	run, err := web.ViewRun(ctx, s.config.Log, found)
	if err != nil {
		return view{}, err
	}
	v := viewOf(&run.RunSummary)
	if run.Interrupted {
		v.Status = statusInterrupted
	}
	err = s.config.Kept.Use(ctx, c.key(run.Thread), func(th *thread.Thread) error {
		if folded := th.Run(run.Run); folded != nil {
			v.add(folded, whole)
		}
		return nil
	})
	return v, err
}

func viewOf(run *events.RunSummary) view {
	v := view{
		Run: run.Run, Thread: run.Thread, Team: run.Team, Status: run.Status, Reason: run.Reason, Limit: run.Limit,
		Tasks: run.Tasks, FinishedTasks: run.FinishedTasks, CostUSD: run.CostUSD,
		InputTokens: run.Usage.InputTokens, OutputTokens: run.Usage.OutputTokens, ModelCalls: run.ModelCalls,
		DrivenMS: run.Elapsed().Milliseconds(), LastSeq: run.LastSeq,
		Simulated: run.Simulated,
	}
	for _, a := range run.Asks {
		v.WaitsFor = append(v.WaitsFor, ask{a.InputID, a.For, a.Question})
	}
	return v
}

// add puts in what only the fold has.
func (v *view) add(run *thread.Run, whole bool) {
	for _, id := range run.Board.Open("") {
		if task, there := run.Board.Task(id); there {
			v.Missing = append(v.Missing, task.Text)
		}
	}
	structured, fallback := false, false
	if final := run.FinalAnswer; final != nil {
		v.Answer, structured, fallback = final.Content, final.Structured, final.Fallback
		if structured {
			v.Data = json.RawMessage(final.Content)
		}
	}
	if !whole {
		return
	}
	v.Basis = evidence.Of(run.Document, v.Answer, structured)
	if !fallback { // then the answer is the document
		document, more := chars.Cut(run.Document.RenderCited(), maxDocumentChars)
		if v.Document = document; more > 0 {
			v.Document += fmt.Sprintf("\n\n[%d more characters: convene show %s has the whole document]", more, run.ID)
		}
	}
}

// result is the run in words: the answer, how the run stands, and what to do next.
func (v view) result() *mcp.CallToolResult {
	var texts []string
	if v.Answer != "" {
		texts = append(texts, v.Answer)
	}
	if v.Document != "" {
		texts = append(texts, v.Document)
	}
	content := []mcp.Content{}
	for _, text := range append(texts, v.line()) {
		content = append(content, &mcp.TextContent{Text: text})
	}
	return &mcp.CallToolResult{Content: content}
}

// unanswered reports whether the run came to nothing that its caller can use.
func (v view) unanswered() bool {
	switch v.Status {
	case events.StatusFailed, events.StatusCancelled, events.StatusSuspended, statusInterrupted:
		return true
	}
	return false
}

// line says how the run stands.
func (v view) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s: %s", v.Run, strings.ReplaceAll(string(v.Status), "_", " "))
	if v.Reason != "" && len(v.WaitsFor) == 0 {
		fmt.Fprintf(&b, " (%s)", v.Reason)
	}
	if v.Tasks > 0 {
		fmt.Fprintf(&b, ", %d of %d tasks finished", v.FinishedTasks, v.Tasks)
	}
	if v.CostUSD != nil && *v.CostUSD > 0 {
		fmt.Fprintf(&b, ", $%.4f", *v.CostUSD)
	}
	b.WriteString(".")
	if v.Simulated {
		b.WriteString(" Simulated: no real model wrote this.")
	}
	if next := v.next(); next != "" {
		b.WriteString(" " + next)
	}
	return b.String()
}

// next says what can be done about a run that is not over.
func (v view) next() string {
	switch v.Status {
	case events.StatusRunning:
		return "get_run tells what it comes to."
	case events.StatusSuspended, statusInterrupted:
		return fmt.Sprintf("It keeps what it has and goes on once somebody resumes it, where this server runs: convene resume %s", v.Run)
	case events.StatusAwaitingInput:
		var asked []string
		for _, a := range v.WaitsFor {
			asked = append(asked, fmt.Sprintf("%q", a.Question))
		}
		return fmt.Sprintf("It waits for a person: %s. It goes on once that is answered, on the dashboard or where this server runs: convene chat --thread %s",
			strings.Join(asked, ", "), v.Thread)
	}
	return ""
}
