package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/handoff"
)

// knownDown is how long a trouble of an endpoint is believed that no call waits to see pass:
// after that whoever asks next finds out.
const knownDown = time.Minute

// talks reports whether the team has the agent as one that can have the conversation.
func (p *plan) talks(id events.AgentID) bool {
	return p.sessions[id] != nil || id == events.HumanID
}

// facilitators is the desk that the facilitator hands over at, nil where it never does.
func (p *plan) facilitators() *handoff.Desk {
	if p.config.Solo || p.config.Team.Handoff == nil {
		return nil
	}
	return p.desk
}

// available says why an agent cannot take over the conversation now, nil where it can: its
// model cannot be found, all endpoints of it are known to be down, or the program says so.
func (r *Runner) available(p *plan) func(events.AgentID) error {
	return func(id events.AgentID) error {
		if err := p.unresolved[id]; err != nil {
			return err
		}
		if !p.talks(id) {
			return errors.New("this program has no such agent")
		}
		if r.config.Available != nil {
			if err := r.config.Available(p.config.Team.Name, id); err != nil {
				return err
			}
		}
		return p.down(id)
	}
}

// down is the trouble of the first endpoint of an agent of which none can be used.
func (p *plan) down(id events.AgentID) error {
	spec := p.sessions[id]
	if spec == nil || len(spec.Route) == 0 {
		return nil
	}
	for _, target := range spec.Route {
		t := target.Endpoint.Health.Trouble(target.Model)
		if t == nil || !t.Attended && time.Since(t.Since) > knownDown {
			return nil
		}
	}
	first := spec.Route[0]
	if trouble := first.Endpoint.Health.Trouble(first.Model); trouble != nil {
		return fmt.Errorf("its model cannot be asked: %s", trouble)
	}
	return nil
}
