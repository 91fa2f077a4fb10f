package builtin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

type nowArgs struct {
	Zone string `json:"zone,omitempty" jsonschema:"Time zone by its IANA name, such as Asia/Tokyo."`
}

// nowTool tells the time at which the call was decided, so that a call which is repeated after a
// crash gives the same.
func nowTool(settings team.NowTool) agent.Tool {
	zone := cmp.Or(settings.Zone, "UTC")
	return agent.Func(llm.Tool{
		Name:        team.ToolNow,
		Description: "Tells the current date, time and day of the week, in " + zone + " unless you name a time zone.",
	}, events.EffectPure, func(_ context.Context, in agent.Invocation, args nowArgs) (agent.Result, error) {
		wanted := cmp.Or(args.Zone, zone)
		place, err := time.LoadLocation(wanted)
		if err != nil {
			return agent.Result{}, fmt.Errorf("there is no time zone %q: give an IANA name, such as Europe/Berlin", wanted)
		}
		at := in.Time.In(place)
		_, week := at.ISOWeek()
		return agent.Result{Text: fmt.Sprintf("%s, %s, week %d, in %s", at.Format(time.RFC3339), at.Weekday(), week, wanted)}, nil
	})
}
