package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/specialists"
	"github.com/convene-run/convene/team"
)

// Functions are Go functions that work in place of a model, by the ids of the
// specialists that they are.
type Functions map[events.AgentID]specialists.Function

// ids are the specialists, in order.
func (f Functions) ids() []events.AgentID { return slices.Sorted(maps.Keys(f)) }

// key tells sets of specialists apart.
func (f Functions) key() string {
	if len(f) == 0 {
		return ""
	}
	return fmt.Sprint(f.ids())
}

// check says what is wrong with functions for a team, or for its solo agent.
func (f Functions) check(t *team.Team, solo bool) error {
	for _, id := range f.ids() {
		_, known := t.Specialist(id)
		switch {
		case f[id] == nil:
			return &InputError{fmt.Sprintf("the function given for specialist %q is nil", id)}
		case solo:
			return &InputError{fmt.Sprintf("a solo run has no specialists, so none of them can be a function: leave out that for %q", id)}
		case !known:
			return &InputError{fmt.Sprintf("a function is given for %q, but team %s has no such specialist: it has %s", id, t.Name, strings.Join(idsOf(t), ", "))}
		}
	}
	return nil
}

func idsOf(t *team.Team) []string {
	ids := make([]string, len(t.Specialists))
	for i, s := range t.Specialists {
		ids[i] = string(s.ID)
	}
	return ids
}

// cover says which function a run lacks here that it was started with: no model takes
// its place.
func (f Functions) cover(run events.RunID, c *config) error {
	if err := f.check(&c.Team, c.Solo); err != nil {
		return err
	}
	for _, a := range c.Agents {
		if a.Function && f[a.ID] == nil {
			return &InputError{fmt.Sprintf("specialist %q of run %s is a Go function, which is not given here. "+
				"Continue the run with the program that started it", a.ID, run)}
		}
	}
	return nil
}
