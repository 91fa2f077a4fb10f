package facilitator

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type tools struct{ team *team.Team }

// Tools are the facilitator's tools in the order in which they are offered: those
// on the board and the document, a dispatch tool per specialist, and one that asks
// several of them.
func Tools(t *team.Team) []agent.Tool {
	tools := tools{t}
	list := []agent.Tool{
		tools.createTasks(), tools.planStatus(), specialists.ReadDocument(t), tools.consolidate(), tools.readClean(),
	}
	for _, s := range t.Specialists {
		list = append(list, tools.dispatch(s))
	}
	return append(list, tools.ask())
}

func (t tools) createTasks() agent.Tool {
	who := agent.Text("The specialist who does it.")
	for _, s := range t.team.Specialists {
		who.Enum = append(who.Enum, string(s.ID))
	}
	task := &jsonschema.Schema{
		Type:          "object",
		Properties:    map[string]*jsonschema.Schema{"text": agent.Text("What is to be done, complete in itself."), "assigned_to": who},
		PropertyOrder: []string{"text", "assigned_to"},
		Required:      []string{"text", "assigned_to"},
	}
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "create_tasks",
			Description: "Adds tasks to the plan, all of them or none. The result gives their ids.",
			Parameters: agent.Parameters(agent.Property{
				Name: "tasks", Schema: agent.List(task, "The tasks, in the order in which they should be worked on."), Required: true,
			}),
		},
		Handler: agent.Pure(t.create),
	}
}

func (t tools) create(tx *thread.Tx, in agent.Invocation) agent.Result {
	var args struct {
		Tasks []board.Draft `json:"tasks"`
	}
	if err := in.Decode(&args); err != nil {
		return agent.Refuse(err)
	}
	rules := board.Rules{MaxTasks: t.team.Limits.MaxTasks, MaxTextBytes: t.team.Limits.MaxTaskBytes}
	for _, s := range t.team.Specialists {
		rules.Specialists = append(rules.Specialists, s.ID)
	}
	created, err := tx.Run.Board.Create(args.Tasks, rules)
	if err != nil {
		t.recordTaskLimit(tx, in, args.Tasks, err)
		return agent.Refuse(err)
	}
	tx.Emit(in.Agent, "", created)
	return agent.Result{Text: "Created:\n" + board.Render(created.Tasks, nil)}
}

// recordTaskLimit puts a bound of the plan that a refusal met into the log, once for
// each bound.
func (t tools) recordTaskLimit(tx *thread.Tx, in agent.Invocation, drafts []board.Draft, err error) {
	met := events.LimitReached{Limit: team.LimitMaxTaskBytes, Value: float64(t.team.Limits.MaxTaskBytes)}
	for _, draft := range drafts {
		met.Used = max(met.Used, float64(len(strings.TrimSpace(draft.Text))))
	}
	var limit *board.LimitError
	if errors.As(err, &limit) {
		met = events.LimitReached{Limit: team.LimitMaxTasks, Value: float64(limit.Max), Used: float64(limit.Have + limit.Asked)}
	}
	if met.Used > met.Value && !tx.Run.LimitMet(met.Limit) {
		met.Consequence = "The tasks were refused, and the model told so."
		tx.Emit(in.Agent, "", met)
	}
}

func (t tools) planStatus() agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "get_plan_status",
			Description: "Shows all tasks of the plan and which are done.",
			Parameters:  agent.Parameters(),
		},
		Handler: agent.Pure(func(tx *thread.Tx, _ agent.Invocation) agent.Result {
			return agent.Result{Text: tx.Run.Board.RenderTasks(nil)}
		}),
	}
}

func (t tools) consolidate() agent.Tool {
	properties := append(agent.PlaceProperties(t.team.Document, false), agent.Property{
		Name: "content", Required: true,
		Schema: agent.Text("What shall stand there instead. {{entry:12}} stands for the whole text of entry 12."),
	})
	return agent.Tool{
		Tool: llm.Tool{
			Name: "consolidate_section",
			Description: "Replaces the entries of a place of the document, as far as you have read them, by one that merges them. " +
				"Refer to entries that can stay as they are with {{entry:ID}} instead of repeating their text.",
			Parameters: agent.Parameters(properties...),
		},
		Handler: agent.Pure(t.merge),
	}
}

func (t tools) merge(tx *thread.Tx, in agent.Invocation) agent.Result {
	var place map[string]any
	var args struct {
		Content string `json:"content"`
	}
	if err := errors.Join(in.Decode(&place), in.Decode(&args)); err != nil {
		return agent.Refuse(err)
	}
	at, err := t.team.Document.Place(place)
	if err != nil {
		return agent.Refuse(err)
	}
	shown := func(id events.EntryID) bool { return tx.Run.Shown[id] }
	updated, result, err := tx.Run.Document.Consolidate(document.Write{
		Author: in.Agent, Place: at, Content: args.Content, ModelCall: in.Ref.ModelCall,
	}, shown, specialists.Bounds(t.team.Limits))
	if err != nil {
		specialists.RecordDocumentLimit(tx, in, err)
		return agent.Refuse(err)
	}
	tx.Emit(in.Agent, "", updated)
	return agent.Result{Text: result}
}

func (t tools) readClean() agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        "read_document_clean",
			Description: "Shows the document as the user will see it, without authors and ids.",
			Parameters:  agent.Parameters(),
		},
		Handler: agent.Pure(func(tx *thread.Tx, _ agent.Invocation) agent.Result {
			text := tx.Run.Document.RenderClean()
			if text == "" {
				return agent.Result{Text: "The document is empty."}
			}
			head, more := clip(text, t.team.Limits.MaxReadChars)
			if more > 0 {
				head += fmt.Sprintf("… (%d more characters. To read a part of them: read_document with %s.)", more, placeNames(t.team.Document))
			}
			return agent.Result{Text: head}
		}),
	}
}

// clip parts text behind that many characters and counts those that follow.
func clip(text string, chars int) (head string, more int) {
	if len(text) <= chars {
		return text, 0
	}
	for at := range text {
		if chars == 0 {
			return text[:at], utf8.RuneCountInString(text[at:])
		}
		chars--
	}
	return text, 0
}

// placeNames are the arguments that name a place of the document.
func placeNames(layout document.Layout) string {
	var names []string
	for _, p := range layout.Params() {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and ")
}
