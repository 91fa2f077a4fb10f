package tenants

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// content is what a file may say; the JSON Schema is made of it.
type content struct {
	Default entry                     `json:"default,omitempty" jsonschema:"What holds for every tenant whose own entry does not say otherwise, and for those without one."`
	Tenants map[events.TenantID]entry `json:"tenants,omitempty" jsonschema:"What holds for single tenants, by their names. The command line's tenant is local."`
}

// entry is what a file says of a tenant; nil is nothing.
type entry struct {
	RunsAtOnce    *int      `json:"runs_at_once,omitempty" jsonschema:"Runs that the server drives at once for the tenant. A further one is refused with HTTP 429. 0 is no bound, which is the default."`
	TokensPerDay  *int64    `json:"tokens_per_day,omitempty" jsonschema:"Tokens that the tenant's model calls may use in a day of UTC, input and output. Runs that meet the bound are parked. 0 is no bound, which is the default."`
	DollarsPerDay *float64  `json:"dollars_per_day,omitempty" jsonschema:"US dollars that the tenant's model calls may cost in a day of UTC. Runs that meet the bound are parked. 0 is no bound, which is the default."`
	Retention     retention `json:"retention,omitempty" jsonschema:"How long what has ended is kept, in days."`
}

type retention struct {
	RunsDays          *int `json:"runs_days,omitempty" jsonschema:"Days that runs are kept after their end. 0 keeps them until somebody removes them, which is the default."`
	BatchesDays       *int `json:"batches_days,omitempty" jsonschema:"Days that batches and their rows are kept after their end. 0 keeps them until somebody removes them, which is the default."`
	ConversationsDays *int `json:"conversations_days,omitempty" jsonschema:"Days that conversations are kept after their newest event. 0 keeps them until somebody removes them, which is the default."`
	SavedStateDays    *int `json:"saved_state_days,omitempty" jsonschema:"Days that runs are kept which were parked or wait for a person. 0 keeps them until somebody removes them. Defaults to 30."`
}

const (
	// maxTenants bounds a file: each named tenant has a label of its own in the metrics.
	maxTenants = 1_000
	// maxDays is a century: more is a slip.
	maxDays = 36_500
)

// parse reads a file; name stands in errors, which tell all that is wrong.
func parse(name string, src []byte) (content, error) {
	var c content
	file := team.ReadYAML(name, src, &c)
	c.Default.check(file, "default")
	if len(c.Tenants) > maxTenants {
		file.Problem("tenants", "the file names %d tenants; at most %d can have bounds of their own: leave those with the bounds of default out", len(c.Tenants), maxTenants)
	}
	for _, tenant := range slices.Sorted(maps.Keys(c.Tenants)) {
		path := "tenants." + string(tenant)
		if err := access.CheckTenant(tenant); err != nil {
			file.Problem(path, "%s", err)
		}
		e := c.Tenants[tenant]
		e.check(file, path)
	}
	return c, file.Err()
}

func (e *entry) check(file *team.YAML, path string) {
	least := func(key string, n float64) {
		if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			file.Problem(path+"."+key, "%s is %v: write how many there may be, or 0 for no bound", key, n)
		}
	}
	if e.RunsAtOnce != nil {
		least("runs_at_once", float64(*e.RunsAtOnce))
	}
	if e.TokensPerDay != nil {
		least("tokens_per_day", float64(*e.TokensPerDay))
	}
	if e.DollarsPerDay != nil {
		least("dollars_per_day", *e.DollarsPerDay)
	}
	for key, days := range map[string]*int{
		"runs_days": e.Retention.RunsDays, "batches_days": e.Retention.BatchesDays,
		"conversations_days": e.Retention.ConversationsDays, "saved_state_days": e.Retention.SavedStateDays,
	} {
		if days != nil && (*days < 0 || *days > maxDays) {
			file.Problem(path+".retention."+key, "%s is %d: write 1 to %d days, or 0 to keep everything until somebody removes it", key, *days, maxDays)
		}
	}
}

// of gives what holds for a tenant.
func (c *content) of(tenant events.TenantID) Limits {
	own := c.Tenants[tenant]
	return Limits{
		RunsAtOnce:    first(0, own.RunsAtOnce, c.Default.RunsAtOnce),
		TokensPerDay:  first(0, own.TokensPerDay, c.Default.TokensPerDay),
		DollarsPerDay: first(0, own.DollarsPerDay, c.Default.DollarsPerDay),
		Retention: Retention{
			Runs:          days(0, own.Retention.RunsDays, c.Default.Retention.RunsDays),
			Batches:       days(0, own.Retention.BatchesDays, c.Default.Retention.BatchesDays),
			Conversations: days(0, own.Retention.ConversationsDays, c.Default.Retention.ConversationsDays),
			SavedState:    days(int(DefaultSavedState/day), own.Retention.SavedStateDays, c.Default.Retention.SavedStateDays),
		},
	}
}

// first gives the first value that is said, otherwise unsaid.
func first[T any](unsaid T, said ...*T) T {
	for _, value := range said {
		if value != nil {
			return *value
		}
	}
	return unsaid
}

func days(unsaid int, said ...*int) time.Duration { return time.Duration(first(unsaid, said...)) * day }
