package team

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
)

// Tuning is how the model of an agent is asked. The zero value of each part leaves it to
// the model, or to its provider.
type Tuning struct {
	// Effort is how much the model thinks, one of [effort.Levels].
	Effort string `json:"effort,omitempty" jsonschema:"How much the model thinks: none, low, medium, high, or max for the most that it takes. Defaults to the model's own."`
	// MaxOutputTokens bounds one reply, what the model thinks included.
	MaxOutputTokens int `json:"max_output_tokens,omitempty" jsonschema:"Tokens of one reply at most, what the model thinks included. Defaults to what the model can write."`
	// Temperature is nil where the model's own default applies.
	Temperature *float64 `json:"temperature,omitempty" jsonschema:"Sampling temperature, 0 to 2. Models that refuse one while they think are not sent it. Defaults to the model's own."`
	// Tier is asked for where the provider has it.
	Tier llm.Tier `json:"tier,omitempty" jsonschema:"Service tier, where the provider has it: flex (cheaper and slower), standard or priority (faster and more expensive). Defaults to the provider's own."`
	// SilenceTimeout takes the place of the limit of that name.
	SilenceTimeout Duration `json:"silence_timeout,omitempty" jsonschema:"How long nothing may come of a reply, or of a tool, such as 5m. Defaults to silence_timeout of the limits."`
}

// Duration is a time that is written with its unit: "90s", "10m".
type Duration time.Duration

// String gives the time as it is written.
func (d Duration) String() string { return formatDuration(time.Duration(d)) }

// MarshalJSON implements [json.Marshaler].
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Bounds of max_output_tokens: fewer are refused by providers, and no model writes more.
const (
	minOutputTokens = 16
	maxOutputTokens = 1_000_000
)

// Tiers are the service tiers that can be asked for.
func Tiers() []string {
	return []string{string(llm.TierFlex), string(llm.TierStandard), string(llm.TierPriority)}
}

// Over gives the tuning with what is set in it in place of what is set below.
func (t Tuning) Over(below Tuning) Tuning {
	if t.Effort != "" {
		below.Effort = t.Effort
	}
	if t.MaxOutputTokens != 0 {
		below.MaxOutputTokens = t.MaxOutputTokens
	}
	if t.Temperature != nil {
		below.Temperature = t.Temperature
	}
	if t.Tier != "" {
		below.Tier = t.Tier
	}
	if t.SilenceTimeout != 0 {
		below.SilenceTimeout = t.SilenceTimeout
	}
	return below
}

// Check gives what is wrong with the tuning; the paths are the keys of a team file.
func (t Tuning) Check() []Problem {
	var found problems
	t.check("", &found)
	return found
}

func (t Tuning) check(path string, found *problems) {
	if levels := effort.Levels(); t.Effort != "" && !slices.Contains(levels, t.Effort) {
		found.add(under(path, "effort"), "unknown effort %q%s the efforts are %s", clip(t.Effort), didYouMean(t.Effort, levels), join(levels))
	}
	if n := t.MaxOutputTokens; n != 0 && (n < minOutputTokens || n > maxOutputTokens) {
		found.add(under(path, "max_output_tokens"), "max_output_tokens must be from %d to %d, not %d; leave it out for what the model can write", minOutputTokens, maxOutputTokens, n)
	}
	if v := t.Temperature; v != nil && (!(*v >= 0) || *v > 2) {
		found.add(under(path, "temperature"), "temperature must be from 0 to 2, not %v", *v)
	}
	if tier := string(t.Tier); tier != "" && !slices.Contains(Tiers(), tier) {
		found.add(under(path, "tier"), "unknown tier %q%s the tiers are %s", clip(tier), didYouMean(tier, Tiers()), join(Tiers()))
	}
	if bound, _ := findBound(events.LimitSilenceTimeout); t.SilenceTimeout != 0 {
		if message := bound.check(time.Duration(t.SilenceTimeout).Seconds()); message != "" {
			found.add(under(path, "silence_timeout"), "%s", message)
		}
	}
}

// Tuned gives the team with the tuning set for every agent, before what the team says.
func (t Team) Tuned(by Tuning) *Team {
	t.Facilitator.Tuning = by.Over(t.Facilitator.Tuning)
	t.Specialists = slices.Clone(t.Specialists)
	for i := range t.Specialists {
		t.Specialists[i].Tuning = by.Over(t.Specialists[i].Tuning)
	}
	return &t
}

// Silence gives how long nothing may come of a reply. A value that somebody set, for the
// agent or as the limit, holds before the first byte as behind it. Else both parts are 0:
// see [llm.DefaultSilence].
func (l Limits) Silence(own Duration) llm.Silence {
	set := time.Duration(own)
	if set == 0 && l.SilenceTimeout != llm.DefaultSilence.First {
		set = l.SilenceTimeout
	}
	return llm.Silence{First: set, Next: set}
}

// decodeDuration reads a time with its unit.
func (d *decoder) decodeDuration(n *node, path string, target *Duration) {
	value, ok := d.duration(n, path)
	switch {
	case !ok:
	case value <= 0:
		d.broke(path, "%s must be longer than 0, not %s; leave it out for the default", path, clip(n.text))
	default:
		*target = Duration(seconds(value))
	}
}
