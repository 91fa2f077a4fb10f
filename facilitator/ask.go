package facilitator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// Strategy is how several specialists are asked.
type Strategy string

// The strategies.
const (
	// Parallel asks all at once and waits for all.
	Parallel Strategy = "parallel"
	// Sequential asks one after the other; each reads what those before it answered.
	Sequential Strategy = "sequential"
	// FirstSuccess asks all at once; the first answer wins and the others are cancelled.
	FirstSuccess Strategy = "first_success"
)

// Delegation is one question to several specialists.
type Delegation struct {
	Question string `json:"question"`
	// Specialists are asked in this order. Defaults to all of the team.
	Specialists []events.AgentID `json:"specialists"`
	// Strategy defaults to Parallel.
	Strategy Strategy `json:"strategy"`
	// TimeoutSeconds bounds each specialist; waiting for the endpoint does not count.
	// Defaults to 120.
	TimeoutSeconds int `json:"timeout_seconds"`
}

// Bounds of a delegation: an answer from memory takes seconds; past an hour nobody
// waits for it.
const (
	defaultAskSeconds = 120
	maxAskSeconds     = 3600
)

// AskTool is the name of the tool that asks several specialists.
const AskTool = "ask_specialists"

// Reply is what one specialist answered.
type Reply struct {
	Agent     events.AgentID `json:"agent_id"`
	Success   bool           `json:"success"`
	Response  string         `json:"response,omitempty"`
	Error     string         `json:"error,omitempty"`
	LatencyMS int64          `json:"latency_ms"`
}

// Check fills in the defaults, or says what is wrong with a delegation of the facilitator's.
func (d *Delegation) Check(t *team.Team) error { return d.check(t, events.FacilitatorID) }

// check is Check for one that the agent asks for.
func (d *Delegation) check(t *team.Team, by events.AgentID) error {
	o, can := t.Orchestration(by)
	if !can {
		return fmt.Errorf("%s cannot ask others (can_orchestrate)", by)
	}
	if strings.TrimSpace(d.Question) == "" {
		return errors.New("the question is empty")
	}
	askable := askable(t, by)
	if len(d.Specialists) == 0 {
		d.Specialists = askable
	}
	if len(d.Specialists) == 0 {
		return errors.New("there is nobody to ask")
	}
	for i, id := range d.Specialists {
		if _, known := t.Specialist(id); !known {
			return fmt.Errorf("there is no specialist %q", id)
		}
		if !slices.Contains(askable, id) {
			return fmt.Errorf("%s cannot be asked: those who can are %v", id, askable)
		}
		if slices.Contains(d.Specialists[:i], id) {
			return fmt.Errorf("specialist %s is named twice", id)
		}
	}
	if d.Strategy == "" {
		d.Strategy = Strategy(o.Strategies()[0])
	}
	if !slices.Contains(o.Strategies(), string(d.Strategy)) {
		return fmt.Errorf("there is no strategy %q: choose from %s", d.Strategy, strings.Join(o.Strategies(), ", "))
	}
	if d.TimeoutSeconds == 0 {
		d.TimeoutSeconds = defaultAskSeconds
	}
	if d.TimeoutSeconds < 1 || d.TimeoutSeconds > maxAskSeconds {
		return fmt.Errorf("timeout_seconds is %d, not from 1 to %d", d.TimeoutSeconds, maxAskSeconds)
	}
	return nil
}

// askArgs are the arguments of the tool: a [Delegation] as the model is told of it.
type askArgs struct {
	Question       string           `json:"question" jsonschema:"Complete in itself."`
	Specialists    []events.AgentID `json:"specialists,omitempty" jsonschema:"Defaults to all."`
	Strategy       Strategy         `json:"strategy,omitempty" jsonschema:"Defaults to all at once. sequential: each reads the answers before its own. first_success: the first answer wins."`
	TimeoutSeconds int              `json:"timeout_seconds,omitempty" jsonschema:"For each. Defaults to 120."`
}

// askable are those whom an agent may ask.
func askable(t *team.Team, by events.AgentID) []events.AgentID {
	return slices.DeleteFunc(idsOf(t.Workers()), func(id events.AgentID) bool { return id == by })
}

// Asking is the tool that asks several specialists, for an agent that can orchestrate and has
// somebody to ask; none for another.
func Asking(t *team.Team, desk *handoff.Desk, by events.AgentID) []agent.Tool {
	o, can := t.Orchestration(by)
	who := askable(t, by)
	if !can || len(who) == 0 {
		return nil
	}
	return []agent.Tool{askTool(t, desk, o, who)}
}

func askTool(t *team.Team, desk *handoff.Desk, o team.Orchestration, askable []events.AgentID) agent.Tool {
	return agent.Tool{
		Tool: llm.Tool{
			Name:        AskTool,
			Description: "Asks several specialists one question, without tasks and without writing: for opinions and short facts, not for work.",
			Parameters: agent.Schema[askArgs](func(schema *jsonschema.Schema) {
				schema.Properties["specialists"].Items.Enum = loop.Enum(askable)
				schema.Properties["strategy"].Enum = loop.Enum(o.Strategies())
			}),
		},
		Handler: loop.Consult(func(ctx context.Context, journal loop.Journal, dispatcher loop.Dispatcher, in *agent.Invocation) (string, error) {
			var args askArgs
			if err := in.Decode(&args); err != nil {
				return "", err
			}
			replies, err := Ask(ctx, t, desk, journal, dispatcher, Delegation(args), in)
			if err != nil {
				return "", err
			}
			text, err := json.MarshalIndent(replies, "", "  ")
			if in.Agent == events.FacilitatorID && limited(args.Strategy, replies) {
				return string(text) + "\n" + saying(t.Messages().Limited, ""), err
			}
			return string(text), err
		}),
	}
}

// limited reports whether an answer has to do without some of what was asked for. Of those who
// are asked for the first answer, one is enough.
func limited(strategy Strategy, replies []Reply) bool {
	failed := func(r Reply) bool { return !r.Success }
	if strategy == FirstSuccess {
		return !slices.ContainsFunc(replies, func(r Reply) bool { return r.Success })
	}
	return slices.ContainsFunc(replies, failed)
}

// Ask puts the question to the specialists and gives a reply of each, in order. What
// was asked under the same call before, by a process that died, is not asked again.
// An error means that nobody was asked, or that the run is being parked.
func Ask(ctx context.Context, t *team.Team, desk *handoff.Desk, journal loop.Journal, dispatcher loop.Dispatcher, d Delegation, in *agent.Invocation) ([]Reply, error) {
	if err := d.check(t, in.Agent); err != nil {
		return nil, err
	}
	a := &asking{ctx: ctx, team: t, desk: desk, journal: journal, dispatcher: dispatcher, Delegation: d, in: in}
	if d.Strategy == Sequential {
		return a.oneByOne()
	}
	return a.atOnce()
}

// asking is one delegation under way.
type asking struct {
	Delegation
	ctx        context.Context
	team       *team.Team
	desk       *handoff.Desk
	journal    loop.Journal
	dispatcher loop.Dispatcher
	in         *agent.Invocation
}

func (a *asking) oneByOne() ([]Reply, error) {
	var replies []Reply
	for _, who := range a.Specialists {
		ids, err := a.open(replies, who)
		if err != nil {
			return nil, err
		}
		reply, err := a.drive(a.ctx, ids[0])
		if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// earlier tells the next specialist what those before it answered, each quoted where
// it has several lines, so that no answer can pass for another's or for the question.
func earlier(replies []Reply) string {
	var b strings.Builder
	for _, reply := range replies {
		if reply.Success && strings.TrimSpace(reply.Response) != "" {
			b.WriteString("\n\n" + quote.After(string(reply.Agent)+" answered before you:", reply.Response))
		}
	}
	return b.String()
}

func (a *asking) atOnce() ([]Reply, error) {
	ids, err := a.open(nil, a.Specialists...)
	if err != nil {
		return nil, err
	}
	replies, errs := make([]Reply, len(ids)), make([]error, len(ids))
	ctx, stop := context.WithCancelCause(a.ctx)
	defer stop(nil)
	var asked errgroup.Group
	o, _ := a.team.Orchestration(a.in.Agent)
	asked.SetLimit(o.Delegations())
	for i, id := range ids {
		asked.Go(func() error {
			replies[i], errs[i] = a.drive(ctx, id)
			if a.Strategy == FirstSuccess && replies[i].Success {
				stop(loop.ErrCancelled) // this one won
			}
			return nil
		})
	}
	_ = asked.Wait() // errs has them all
	for i, id := range ids {
		if errors.Is(context.Cause(ctx), loop.ErrCancelled) && errors.Is(errs[i], loop.ErrAwaitingInput) { // nobody needs what it waits for
			replies[i], errs[i] = a.drive(ctx, id)
		}
	}
	return replies, errors.Join(errs...)
}

// question is what the next ones read, behind the replies of those before them.
func (a *asking) question(tx *thread.Tx, replies []Reply) string {
	a.desk.Learn(tx)
	clean := a.desk.Clean
	if a.in.Ref.ModelCall == "" { // no model wrote it
		clean = a.desk.CleanSaid
	}
	return clean(tx, a.Question, 0) + a.desk.Clean(tx, earlier(replies), 0)
}

// open starts those who have not been asked yet, all or none.
func (a *asking) open(before []Reply, who ...events.AgentID) (ids []events.DispatchID, err error) {
	failed := a.journal.Do(func(tx *thread.Tx) {
		ids, err = nil, nil
		if max := a.team.Limits.MaxDispatches; len(tx.Run.Dispatches)+len(who) > max && a.find(tx.Run, who[0]) == nil {
			err = fmt.Errorf("this run has made %d of its %d dispatches, too many to ask %d more", len(tx.Run.Dispatches), max, len(who))
			return
		}
		if a.find(tx.Run, who[0]) == nil {
			if err = mayDelegate(tx, a.in.Agent, thread.ActorOf(a.in.Dispatch), who...); err != nil {
				return
			}
		}
		for _, id := range who {
			if d := a.find(tx.Run, id); d != nil {
				ids = append(ids, d.ID)
				continue
			}
			s, _ := a.team.Specialist(id)
			next := tx.Run.Thread().NextDispatch()
			tx.Emit(id, thread.ActorOf(next), events.AgentStarted{
				Agent: id, DisplayName: s.DisplayName, Message: a.question(tx, before), Tool: a.in.Tool, Asked: true, CallRef: a.in.Ref,
			})
			ids = append(ids, next)
		}
	})
	return ids, errors.Join(failed, err)
}

// find gives what the call has asked of the specialist already.
func (a *asking) find(run *thread.Run, who events.AgentID) *thread.Dispatch {
	for _, d := range run.Dispatches {
		if d.Start.Asked && d.Start.CallID == a.in.Ref.CallID && d.Start.Agent == who {
			return d
		}
	}
	return nil
}

// drive waits for one specialist: until it ends, its time is up, or ctx has ended.
func (a *asking) drive(ctx context.Context, id events.DispatchID) (reply Reply, err error) {
	if err = a.dispatcher.Dispatch(ctx, id, time.Duration(a.TimeoutSeconds)*time.Second); err != nil {
		return reply, err
	}
	return reply, a.journal.Do(func(tx *thread.Tx) { reply = replyOf(tx.Run.Dispatch(id)) })
}

// FinishAsked ends a run that only asked: its answer joins the replies.
func FinishAsked(tx *thread.Tx, strategy Strategy, replies []Reply) {
	text, ok := synthesize(answersOf(replies))
	tx.Emit(events.FacilitatorID, thread.Facilitator, events.FinalAnswer{Content: text, Fallback: true})
	var failures []string
	for _, reply := range replies {
		if !reply.Success && !(ok && strategy == FirstSuccess) {
			failures = append(failures, fmt.Sprintf("%s: %s", reply.Agent, reply.Error))
		}
	}
	Finish(tx, Ending{Failed: !ok, Reason: strings.Join(failures, "; ")})
}

// Replies gives what was answered under a call.
func Replies(run *thread.Run, call events.CallID) []Reply {
	var replies []Reply
	for _, d := range run.Dispatches {
		if d.Start.Asked && d.Start.CallID == call {
			replies = append(replies, replyOf(d))
		}
	}
	return replies
}

func replyOf(d *thread.Dispatch) Reply {
	reply := Reply{Agent: d.Start.Agent}
	switch finish := d.Finish; {
	case finish == nil:
		reply.Error = "it has not answered"
	case finish.Status == events.OutcomeOK:
		reply.Success, reply.Response, reply.LatencyMS = true, finish.Result, finish.ElapsedMS
	default:
		reply.Error, reply.LatencyMS = finish.Error, finish.ElapsedMS
	}
	return reply
}

func answersOf(replies []Reply) []answer {
	answers := make([]answer, len(replies))
	for i, r := range replies {
		answers[i] = answer{Agent: r.Agent, Text: r.Response, Failed: !r.Success}
	}
	return answers
}
