package conversation

import (
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// Codes of [events.HandoffRejected].
const (
	CodeActiveSession    = "active_session"
	CodeUnknownTarget    = "unknown_target"
	CodeUnavailable      = "unavailable"
	CodePermissionDenied = "permission_denied"
	CodeNotAllowed       = "not_allowed"
)

// Policy is what a team and the program that runs it say about handoffs.
type Policy struct {
	Targets []Target
	// Aliases are further names of targets.
	Aliases map[string]events.AgentID
	// Queue has a second handoff wait for the end of the first. Otherwise it is rejected.
	Queue bool
	// Available says why an agent cannot take over now, nil where it can. It must not wait.
	// nil is that all can.
	Available func(events.AgentID) error
	// Allowed says why the team does not allow a handoff to one of its targets, nil where it
	// does. nil is that all are allowed.
	Allowed func(Handoff) error
	// Messages are what the user reads, with their defaults.
	Messages Messages
	// Caller is on whose behalf the conversation is handed over.
	Caller Caller
	// KeepState is for how long a session that ended before its time can be resumed.
	KeepState time.Duration
}

// Target is an agent that may take over the conversation.
type Target struct {
	Agent events.AgentID
	// Name is what people call it.
	Name string
	// Requires is a permission that handing over to it takes beside [access.HandoffInitiate], ""
	// for none.
	Requires string
	// EstimatedSeconds is how long it expects to need, 0 where it does not say.
	EstimatedSeconds int
	// Yields is set where a second handoff takes the conversation away from it.
	Yields bool
	// AllMayAnswer is set on a person beside whom everybody goes on answering: nobody loses
	// the conversation to the target, and it is no second handoff.
	AllMayAnswer bool
	// MaxIdle is how long its session may be idle, 0 for without end.
	MaxIdle time.Duration
}

// Resolve gives the agent that an alias stands for, and any other name as it is.
func (p Policy) Resolve(name events.AgentID) events.AgentID {
	if id, ok := p.Aliases[string(name)]; ok {
		return id
	}
	return name
}

// target finds a target by its id or an alias.
func (p Policy) target(name events.AgentID) (Target, bool) {
	name = p.Resolve(name)
	for _, target := range p.Targets {
		if target.Agent == name {
			return target, true
		}
	}
	return Target{}, false
}

// Known reports whether an agent is one of the targets.
func (p Policy) Known(id events.AgentID) bool {
	_, known := p.target(id)
	return known
}

// Name is what people call a target, its id where there is no such target.
func (p Policy) Name(id events.AgentID) string {
	if target, known := p.target(id); known && target.Name != "" {
		return target.Name
	}
	return string(id)
}

// Denied checks what handing over to a target takes: see [Caller.Denied].
func (p Policy) Denied(id events.AgentID) *events.PermissionDenied {
	target, _ := p.target(id)
	target.Agent = id
	return p.denied(target)
}

func (p Policy) denied(target Target) *events.PermissionDenied {
	what := "hand the conversation over to " + string(target.Agent)
	if denied := p.Caller.Denied(access.HandoffInitiate, what); denied != nil {
		return denied
	}
	return p.Caller.Denied(target.Requires, what)
}

// refusal says why a handoff that the user may ask for is refused, with the sentence for the
// user, if there is one.
func (p Policy) refusal(s *State, h Handoff, target Target) (code, why, notice string) {
	if p.Allowed != nil && (s.active == nil || p.givesWay(s, h)) {
		if err := p.Allowed(h); err != nil {
			return CodeNotAllowed, err.Error(), ""
		}
	}
	if err := p.away(target.Agent); err != nil {
		return CodeUnavailable, p.unavailable(target, err), Say(p.Messages.Unavailable, target.Name)
	}
	if target.AllMayAnswer && s.person != nil {
		return CodeActiveSession, fmt.Sprintf("%s was asked already and answers when there is time for it; go on meanwhile", target.Agent), ""
	}
	if s.active == nil || target.AllMayAnswer || p.givesWay(s, h) {
		return "", "", ""
	}
	switch pending := len(s.Pending()); {
	case s.active.Request.Target == target.Agent || !p.Queue:
		return CodeActiveSession, p.occupied(s), Say(p.Messages.SecondHandoff, p.Name(s.active.Request.Target))
	case pending >= MaxPending:
		return CodeActiveSession, fmt.Sprintf("%d handoffs wait already; finish one of them first", pending), ""
	}
	return "", "", ""
}

// givesWay reports whether the active session ends for a handoff: its own agent hands on, or
// does not need the conversation for itself alone.
func (p Policy) givesWay(s *State, h Handoff) bool {
	holder := s.active.Request.Target
	target, _ := p.target(holder)
	return h.Target != holder && (h.Source == holder || target.Yields)
}

func (p Policy) occupied(s *State) string {
	return fmt.Sprintf("%s has the conversation already; finish or leave that first", s.active.Request.Target)
}

func (p Policy) away(id events.AgentID) error {
	if p.Available == nil {
		return nil
	}
	return p.Available(id)
}

// unavailable explains that a target cannot take over, with whom else there is.
func (p Policy) unavailable(target Target, cause error) string {
	var others []string
	for _, other := range p.Targets {
		if other.Agent != target.Agent && p.away(other.Agent) == nil {
			others = append(others, string(other.Agent))
		}
	}
	alternatives := "no other target is available, so help the user yourself or offer to try again later"
	if len(others) > 0 {
		alternatives = "available are " + strings.Join(others, ", ") + "; or help the user yourself, or offer to try again later"
	}
	return fmt.Sprintf("%s is unavailable now (%v); %s", target.Agent, cause, alternatives)
}

func (p Policy) accept(id events.HandoffID, target Target) events.HandoffAccepted {
	notice := p.Messages.Connecting
	if target.AllMayAnswer {
		notice = p.Messages.PersonAsked
	}
	return events.HandoffAccepted{
		HandoffID: id, EstimatedDurationSeconds: target.EstimatedSeconds, AllMayAnswer: target.AllMayAnswer, Notice: Say(notice, target.Name),
	}
}

// list names the targets and their aliases.
func (p Policy) list() string {
	if len(p.Targets) == 0 {
		return "none"
	}
	names := make([]string, len(p.Targets))
	for i, target := range p.Targets {
		names[i] = string(target.Agent)
	}
	return strings.Join(names, ", ")
}

// saved names the sessions that can be resumed.
func (p Policy) saved(s *State, now time.Time) string {
	var names []string
	for _, session := range s.Saved(now, p.KeepState) {
		names = append(names, fmt.Sprintf("%s with %s", session.ID, session.Request.Target))
	}
	if len(names) == 0 {
		return "no session is saved; hand over anew"
	}
	return "saved are " + strings.Join(names, ", ")
}
