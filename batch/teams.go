package batch

import (
	"sync"
	"time"

	"github.com/convene-run/convene/team"
)

// maxTeams bounds the teams that are kept ready: batches use a handful.
const maxTeams = 64

// teams finds teams by the names that rows give them. The same name is the same
// *team.Team, which runs of one team share.
type teams struct {
	standard *team.Team
	resolve  func(string) (*team.Team, error)
	timeout  time.Duration

	mu    sync.Mutex // guards known
	known map[string]*team.Team
}

func newTeams(config Config) *teams {
	t := &teams{resolve: config.Teams, timeout: config.RowTimeout, known: map[string]*team.Team{}}
	t.standard = t.timed(config.Team)
	return t
}

func (t *teams) find(name string) (*team.Team, error) {
	if name == "" {
		return t.standard, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.known[name]; found != nil {
		return found, nil
	}
	found, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	if len(t.known) == maxTeams {
		clear(t.known)
	}
	found = t.timed(found)
	t.known[name] = found
	return found, nil
}

// timed gives the team with the batch's timeout in place of its own.
func (t *teams) timed(of *team.Team) *team.Team {
	if t.timeout == 0 {
		return of
	}
	timed := *of
	timed.Limits.MaxTime = t.timeout
	return &timed
}
