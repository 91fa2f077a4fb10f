package facilitator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/board"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

type tools struct {
	team *team.Team
	// workers are the specialists that can be given tasks.
	workers []team.Specialist
}

// Tools are the facilitator's tools in the order in which they are offered: those
// on the board and the document, a dispatch tool per specialist, and one that asks
// several of them, and one that asks the user; where the team allows it, one that hands the
// conversation over and one that reads it. A facilitator that cannot orchestrate, or has
// nobody who works, asks the user and has the last two.
func Tools(t *team.Team, desk *handoff.Desk) (list []agent.Tool) {
	tools := tools{t, t.Workers()}
	if t.Plans() {
		list = append(list, tools.createTasks(), tools.planStatus(), specialists.ReadDocument(t), tools.consolidate(), tools.readClean())
		for _, s := range tools.workers {
			list = append(list, tools.dispatch(s))
		}
		list = append(list, Asking(t, desk, events.FacilitatorID)...)
	}
	list = append(list, tools.askUser())
	if t.Handoff != nil {
		list = append(list, specialists.Handoff(t, desk, events.FacilitatorID), specialists.ReadThread(t, desk))
	}
	return list
}

type createArgs struct {
	Tasks []draft `json:"tasks" jsonschema:"In the order of work."`
}

// draft is a [board.Draft] as the model is told of it.
type draft struct {
	Text       string          `json:"text" jsonschema:"What is to be done, complete in itself."`
	AssignedTo events.AgentID  `json:"assigned_to"`
	Replaces   []events.TaskID `json:"replaces,omitempty" jsonschema:"Declined tasks that it stands in for."`
}

func (t tools) createTasks() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "create_tasks",
		Description: "Adds tasks to the plan, all or none, and gives their ids.",
		Parameters: agent.Schema[createArgs](func(schema *jsonschema.Schema) {
			schema.Properties["tasks"].Items.Properties["assigned_to"].Enum = loop.Enum(t.specialists())
		}),
	}, t.create)
}

// specialists are the ids of those that can be given tasks.
func (t tools) specialists() []events.AgentID { return idsOf(t.workers) }

func idsOf(list []team.Specialist) []events.AgentID {
	ids := make([]events.AgentID, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	return ids
}

func (t tools) create(tx *thread.Tx, in *agent.Invocation, args createArgs) agent.Result {
	drafts := make([]board.Draft, len(args.Tasks))
	for i, d := range args.Tasks {
		drafts[i] = board.Draft(d)
	}
	created, err := tx.Run.Board.Create(drafts, board.Rules{
		MaxTasks: t.team.Limits.MaxTasks, MaxTextChars: t.team.Limits.MaxTaskChars, Specialists: t.specialists(),
	})
	if err == nil {
		err = replacesBusy(tx.Run, created)
	}
	if err != nil {
		t.recordTaskLimit(tx, in, drafts, err)
		return agent.Refuse(err)
	}
	tx.Emit(in.Agent, thread.Facilitator, created)
	return agent.Result{Text: board.RenderCreated(created)}
}

// replacesBusy keeps a declined task from being replaced while its specialist, still at
// work, may yet do it.
func replacesBusy(run *thread.Run, created events.TasksCreated) error {
	busy := run.Busy()
	for _, task := range created.Tasks {
		for _, id := range task.Replaces {
			if d, ok := busy[id]; ok {
				return fmt.Errorf("nothing was created: task %d belongs to dispatch %s, which is under way: wait for its result", id, d)
			}
		}
	}
	return nil
}

// recordTaskLimit puts a bound of the plan that a refusal met into the log, once for
// each bound.
func (t tools) recordTaskLimit(tx *thread.Tx, in *agent.Invocation, drafts []board.Draft, err error) {
	var met *events.LimitError
	if !errors.As(err, &met) {
		met = &events.LimitError{Limit: events.LimitMaxTaskChars, Value: float64(t.team.Limits.MaxTaskChars)}
		for _, draft := range drafts {
			met.Used = max(met.Used, float64(chars.Count(strings.TrimSpace(draft.Text))))
		}
	}
	if met.Used > met.Value && !tx.Run.LimitMet(met.Limit) {
		tx.Emit(in.Agent, thread.Facilitator, met.Fact("The tasks were refused, and the model told so."))
	}
}

func (t tools) planStatus() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "get_plan_status",
		Description: "Shows which tasks are done, and what is open.",
	}, func(tx *thread.Tx, _ *agent.Invocation, _ struct{}) agent.Result {
		return agent.Result{Text: tx.Run.Board.RenderStatus()}
	})
}

// mergeArgs are the arguments of consolidate_section other than the place.
type mergeArgs struct {
	Content string `json:"content" jsonschema:"{{entry:12}} stands for the whole text of entry 12: do not repeat texts that can stay."`
}

func (t tools) consolidate() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "consolidate_section",
		Description: "Replaces the entries of a place, as far as you have read them, by one that merges them.",
		Parameters:  agent.Schema[mergeArgs](loop.Place(t.team.Document, false)),
	}, t.merge)
}

// mergeCall are all arguments of consolidate_section.
type mergeCall struct {
	loop.Placed
	mergeArgs
}

func (t tools) merge(tx *thread.Tx, in *agent.Invocation, args mergeCall) agent.Result {
	at, err := t.team.Document.Place(args.Args())
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
	tx.Emit(in.Agent, thread.Facilitator, updated)
	return agent.Result{Text: result}
}

func (t tools) readClean() agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name:        "read_document_clean",
		Description: "Shows the document as the user gets it, without authors and ids.",
	}, func(tx *thread.Tx, _ *agent.Invocation, _ struct{}) agent.Result {
		text := tx.Run.Document.RenderClean()
		if text == "" {
			return agent.Result{Text: "The document is empty."}
		}
		if t.hasRead(tx) {
			return agent.Result{Text: "Nothing has changed since read_document: the user gets it without authors and ids."}
		}
		head, more := chars.Cut(text, t.team.Limits.MaxReadChars)
		if more > 0 {
			head += fmt.Sprintf("… (%d more characters. To read a part of them: read_document with %s.)", more, placeNames(t.team.Document))
		}
		return agent.Result{Text: head}
	})
}

// hasRead reports whether the whole document as it stands is in a result that the
// facilitator has before it. What a summary has taken the place of is not.
func (t tools) hasRead(tx *thread.Tx) bool {
	text, shown := specialists.RenderDocument(tx.Run, t.team.Limits, document.Place{})
	if len(shown) < tx.Run.Document.Live() {
		return false
	}
	talk := tx.Run.Conversation(thread.Facilitator)
	if turn := talk.Turn(); turn != nil && slices.ContainsFunc(turn.Calls, func(call thread.Call) bool { return call.Result == text }) {
		return true
	}
	return slices.ContainsFunc(talk.Messages(), func(m events.Message) bool {
		return m.Role == events.RoleTool && m.Content == text
	})
}

// placeNames are the arguments that name a place of the document.
func placeNames(layout document.Layout) string {
	var names []string
	for _, p := range layout.Params() {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and ")
}
