package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

// Limits are the bounds of one run. [Bounds] describes each of them; 0 means the
// default there. In JSON and YAML times are written as "90s" or "10m".
type Limits struct {
	MaxTasks              int
	MaxTaskChars          int
	MaxFacilitatorTurns   int
	MaxSpecialistTurns    int
	MaxDispatches         int
	MaxParallelDispatches int
	MaxToolCallsPerTurn   int
	MaxEntryChars         int
	MaxDocumentChars      int
	MaxEntries            int
	MaxReplyChars         int
	MaxEmptyReplies       int
	MaxToolResultChars    int
	MaxReadChars          int
	MaxArtifactBytes      int64
	MaxTokens             int64
	// MaxCostUSD is 0 where a run has no bound of cost.
	MaxCostUSD float64
	// MaxSpecialistTokens and MaxSpecialistCostUSD bound one dispatch; the latter is 0
	// where its cost has no bound of its own.
	MaxSpecialistTokens  int64
	MaxSpecialistCostUSD float64
	MaxTime              time.Duration
	SpecialistTimeout    time.Duration
	ToolTimeout          time.Duration
	SilenceNotice        time.Duration
	SilenceSlow          time.Duration
	SilenceTimeout       time.Duration
	// WrapUpShare is in percent.
	WrapUpShare int
}

// DefaultLimits are the limits of a team that declares none.
func DefaultLimits() Limits { return Limits{}.WithDefaults() }

// WithDefaults returns the limits with the default in place of every 0.
func (l Limits) WithDefaults() Limits {
	for _, b := range bounds {
		if b.value(&l) == 0 {
			b.set(&l, b.Default)
		}
	}
	return l
}

// Value gives a limit by name, in the unit of its [Bound]. It is 0 for a name
// that is no limit.
func (l Limits) Value(name events.Limit) float64 {
	b, ok := findBound(name)
	if !ok {
		return 0
	}
	return b.value(&l)
}

// InvalidLimitError says that a limit is set to what cannot be.
type InvalidLimitError struct {
	Limit events.Limit
	// Other is the limit that this one contradicts, empty if it is wrong alone.
	Other   events.Limit
	Message string
}

func (e *InvalidLimitError) Error() string { return e.Message }

// Validate checks limits that have their defaults: each within its bounds, the
// silences in order. It returns all that is wrong, joined; each error is a
// *[InvalidLimitError].
func (l Limits) Validate() error {
	var all []error
	for _, wrong := range l.check() {
		all = append(all, wrong)
	}
	return errors.Join(all...)
}

func (l Limits) check() []*InvalidLimitError {
	var found []*InvalidLimitError
	for _, b := range bounds {
		if message := b.check(b.value(&l)); message != "" {
			found = append(found, &InvalidLimitError{Limit: b.Name, Message: message})
		}
	}
	if len(found) > 0 {
		return found // comparing impossible values would only add noise
	}
	for i, name := range silences[1:] {
		low, _ := findBound(silences[i])
		high, _ := findBound(name)
		if low.value(&l) >= high.value(&l) {
			found = append(found, &InvalidLimitError{Limit: low.Name, Other: high.Name, Message: fmt.Sprintf(
				"%s (%s) must be less than %s (%s); change one of them",
				low.Name, low.Format(low.value(&l)), high.Name, high.Format(high.value(&l)))})
		}
	}
	return found
}

// silences are the limits that must follow each other. Any other two limits may
// stand in any order: the tighter one is met first.
var silences = []events.Limit{events.LimitSilenceNotice, events.LimitSilenceSlow, events.LimitSilenceTimeout}

// MarshalJSON writes every limit by name, in the order of [Bounds].
func (l Limits) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, b := range bounds {
		if i > 0 {
			out.WriteByte(',')
		}
		value := b.field(&l)
		if d, ok := value.(*time.Duration); ok {
			value = formatDuration(*d)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("marshal limit %s: %w", b.Name, err)
		}
		fmt.Fprintf(&out, "%q:%s", b.Name, text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes. A limit that is not there keeps
// its value, so a log written before a limit existed reads as 0; a name that is
// no limit is ignored, because a newer version may have written it.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("unmarshal limits: %w", err)
	}
	for _, b := range bounds {
		text, ok := raw[string(b.Name)]
		if !ok {
			text, ok = raw[string(former[b.Name])]
		}
		if !ok {
			continue
		}
		if err := b.unmarshal(l, text); err != nil {
			return fmt.Errorf("unmarshal limit %s: %w", b.Name, err)
		}
	}
	return nil
}

func (b bound) unmarshal(l *Limits, text []byte) error {
	target, ok := b.field(l).(*time.Duration)
	if !ok {
		return json.Unmarshal(text, b.field(l))
	}
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	d, err := time.ParseDuration(written)
	if err != nil {
		return err
	}
	*target = d
	return nil
}

// value reads the bound's field in the bound's unit.
func (b bound) value(l *Limits) float64 {
	switch field := b.field(l).(type) {
	case *int:
		return float64(*field)
	case *int64:
		return float64(*field)
	case *float64:
		return *field
	case *time.Duration:
		return field.Seconds()
	}
	panic("team: bound " + string(b.Name) + " has a field of unknown type")
}

// set writes the bound's field from a value in the bound's unit.
func (b bound) set(l *Limits, value float64) {
	switch field := b.field(l).(type) {
	case *int:
		*field = int(value)
	case *int64:
		*field = int64(value)
	case *float64:
		*field = value
	case *time.Duration:
		*field = seconds(value)
	default:
		panic("team: bound " + string(b.Name) + " has a field of unknown type")
	}
}
