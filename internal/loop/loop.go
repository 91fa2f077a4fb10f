package loop

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// Loop drives one agent from wherever the log says it is to its end. Its fields
// do not change while it runs; a Loop runs once.
type Loop struct {
	Spec *Spec
	Role Role
	// ID is the agent's place in the thread.
	ID       thread.ActorID
	Run      events.RunID
	Priority llm.Priority

	Journal  Journal
	Caller   Caller
	Governor Governor
	// Dispatcher drives what dispatch tools open. An agent without such tools needs
	// none.
	Dispatcher Dispatcher
	// Files keeps what results bring beside text. Defaults to nil: results are then cut, and
	// files left out.
	Files Files
	// FilesRoot is the folder below which the run's own folder lies. Defaults to none: a run
	// that has one of its own then reads no files.
	FilesRoot string
	// Work ends what the agent's tools have under way, before the agent itself must end:
	// it is derived from the context of Drive. Defaults to that.
	Work context.Context
	// Decide is the decision on calls that wait for leave where no person is asked, nil where
	// one is.
	Decide *events.Approval
	// Live shows what the agent is doing. It may be nil.
	Live *agent.Live

	opening []events.Message
	// openFile is that of Files.
	openFile func(context.Context, events.ArtifactID) (*io.SectionReader, error)
	// last is the expected usage of the last turn, for the agent that answers the user.
	last *events.Usage
	// outgrown is the turn whose request was refused as too long.
	outgrown events.ModelCallID
	// compactable is set where the newest request has more of a history than a summary would
	// leave.
	compactable bool
	// said is how much people had said when the newest request was built.
	said int
	// restAsked is the newest turn whose rest this process has asked for.
	restAsked events.ModelCallID
	group     *errgroup.Group
	// running are the slow calls of the turn under way that this process drives, by
	// index.
	running map[int]bool
}

// Drive runs the loop. It returns nil once the role is over, [ErrAwaitingInput] if it
// waits for a person, another [ErrSuspended] when the run is being parked, and else the store's error: what fails below an agent ends
// up in the log.
func (l *Loop) Drive(ctx context.Context) error {
	defer l.Live.Enter(agent.PhaseFinished)
	for {
		step, req, err := l.next(ctx)
		if err == nil {
			switch step.(type) {
			case End:
				return nil
			case RunAgain:
				err = l.ask(ctx, req, false)
			case WrapUp:
				err = l.ask(ctx, req, true)
			case AwaitInput:
				err = l.awaitInput(ctx)
			}
		}
		if err != nil {
			// Nobody is left behind: what was launched ends before Drive does.
			_ = l.wait()
			return err
		}
	}
}

// ask makes the next turn, or first the room for it.
func (l *Loop) ask(ctx context.Context, req *llm.Request, wrapUp bool) error {
	if l.mustCompact(req) {
		return l.compact(ctx, req, wrapUp)
	}
	return l.turn(ctx, req, wrapUp)
}

// next finishes what the log says is unfinished and gives the next model call.
func (l *Loop) next(ctx context.Context) (NextStep, *llm.Request, error) {
	for {
		var (
			step    NextStep
			req     *llm.Request
			start   []pending
			waiting bool
		)
		err := l.Journal.Do(func(tx *thread.Tx) {
			step, start, waiting = End{}, nil, false
			if l.Role.Over(tx.Run) {
				return
			}
			if tx.Run.Cancelled {
				l.Role.Fail(tx, ErrCancelled)
				return
			}
			conv := tx.Run.Conversation(l.ID)
			if turn := conv.Turn(); turn != nil {
				start = l.resolve(tx, conv, turn)
				turn = conv.Turn()
				if waiting = turn.Open() || l.lacksRest(turn); waiting && len(start) == 0 && l.onlyAwaits(tx.Run, turn) {
					step, waiting = AwaitInput{}, false
					return
				}
				if waiting || l.Role.Over(tx.Run) {
					return
				}
			}
			step = l.Role.Prepare(tx, conv, nil)
			switch step.(type) {
			case RunAgain, WrapUp:
				req, l.said = l.request(tx.Run, conv), conv.Said()
				if l.ID == thread.Facilitator {
					l.last = lastTurn(req, tx.Run.Document.CleanBytes())
				}
			}
		})
		if err != nil || !waiting {
			return step, req, err
		}
		if err := l.runSlow(ctx, start); err != nil {
			return nil, req, err
		}
	}
}

// resolve brings a turn that was found in the log closer to its end: the result
// are the calls to run before it can be.
func (l *Loop) resolve(tx *thread.Tx, conv *thread.Conversation, turn *thread.Turn) []pending {
	if !turn.Called {
		reply := turn.Interrupted()
		l.emitInterrupted(tx)
		called := modelCalled(turn.ID, l.interrupted(l.request(tx.Run, conv), reply), events.FailedCall{})
		called.Interrupted = true
		tx.Emit(l.Spec.ID, l.ID, called)
		if !reply.Blank() {
			l.Role.Beside(tx, reply.Text)
		}
		turn = conv.Turn()
		if turn == nil {
			return nil
		}
	}
	return l.advance(tx, advancing{id: turn.ID, calls: calls(turn)})
}

func calls(turn *thread.Turn) []events.ToolCall {
	list := make([]events.ToolCall, len(turn.Calls))
	for i := range turn.Calls {
		list[i] = turn.Calls[i].ToolCall
	}
	return list
}

// request builds the next model call from the configuration and the history.
func (l *Loop) request(run *thread.Run, conv *thread.Conversation) *llm.Request {
	if l.opening == nil {
		l.opening = append([]events.Message{{Role: events.RoleSystem, Content: l.Spec.System}}, l.Role.Opening(run)...)
	}
	history := conv.Messages()
	if role, sliding := l.Role.(Sliding); sliding {
		history = role.Window(history)
	}
	messages := make([]events.Message, 0, conv.CountEarlier()+len(l.opening)+len(history)+1)
	messages = append(messages, l.opening[0])
	messages = conv.AppendEarlier(messages)
	messages = append(messages, l.opening[1:]...)
	if summary := conv.Summary(); summary != "" {
		messages = append(messages, thread.SummaryMessage(summary))
	}
	messages = append(messages, history...)
	l.compactable = len(messages) > len(l.opening)+1+conv.Heard()
	return l.Spec.tuned(&llm.Request{
		Messages: messages, Tools: l.Spec.Tools.Specs(), MaxOutputTokens: l.Spec.MaxOutputTokens, CacheKey: l.Spec.CacheKey,
		Doors: conv.Doors(), Run: l.Run, Call: conv.NextTurn(), Priority: l.Priority,
	})
}

// tuned gives the request as the agent's models are to be asked.
func (s *Spec) tuned(req *llm.Request) *llm.Request {
	req.Effort, req.Temperature, req.Tier, req.Silence = s.Effort, s.Temperature, s.Tier, s.Silence
	return req
}

// target is whom the agent asks first.
func (l *Loop) target() llm.Target {
	if len(l.Spec.Route) == 0 {
		return llm.Target{Endpoint: &llm.Endpoint{}}
	}
	return l.Spec.Route[0]
}

// runSlow runs the calls and those that started before them, asks for the rest of a
// turn that broke off meanwhile, and waits for all.
func (l *Loop) runSlow(ctx context.Context, start []pending) error {
	l.launch(ctx, start)
	asked := l.rest(ctx)
	if err := l.wait(); err != nil && (asked == nil || errors.Is(asked, ErrSuspended)) {
		return err
	}
	return asked
}

// launch starts what is not running yet. Neighbours run together.
func (l *Loop) launch(ctx context.Context, start []pending) {
	if l.Work != nil {
		ctx = l.Work
	}
	for _, p := range start {
		if l.running[p.index] {
			continue
		}
		if l.group == nil {
			l.group, l.running = &errgroup.Group{}, map[int]bool{}
		}
		l.running[p.index] = true
		l.group.Go(func() error { return p.run(ctx) })
	}
}

// wait returns when all calls that were launched have ended. Of several errors a
// store's weighs more than a suspension.
func (l *Loop) wait() error {
	if l.group == nil {
		return nil
	}
	l.Live.Enter(agent.PhaseTools)
	err := l.group.Wait()
	l.group, l.running = nil, nil
	return err
}

// fail ends the agent with closing facts, unless the run is being parked.
func (l *Loop) fail(cause error) error {
	if errors.Is(cause, ErrSuspended) {
		if llm.FailedCall(cause).ModelCall == "" {
			return ErrSuspended
		}
		if err := l.tellUnanswered(cause); err != nil {
			return err
		}
		return ErrSuspended
	}
	return l.Journal.Do(func(tx *thread.Tx) {
		switch {
		case l.Role.Over(tx.Run):
		case tx.Run.Cancelled: // whatever else happened: a cancelled run only closes
			l.Role.Fail(tx, stopped(cause, ErrCancelled))
		default:
			l.Role.Fail(tx, cause)
		}
	})
}

// stopped gives the cause that stopped an agent, with what the call under way had
// tried.
func stopped(err, cause error) error {
	var call *llm.CallError
	if !errors.As(err, &call) {
		return cause
	}
	tried := *call
	tried.Err = cause
	return &tried
}
