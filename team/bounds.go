package team

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// Units of bounds.
const (
	UnitSeconds = "seconds"
	UnitUSD     = "USD"
	UnitPercent = "%"
	UnitChars   = "characters"
)

// Bound describes one limit of a run. Default, Min and Max are in Unit.
type Bound struct {
	Name        events.Limit
	Description string
	// Reason says why the default is what it is.
	Reason  string
	Unit    string
	Default float64
	// Min is the smallest value that a team may set. Only a bound whose Min is 0
	// can be switched off, and 0 does it.
	Min float64
	// Max is the hard maximum.
	Max float64
}

// bound ties a description to the field that holds the value: an *int, *int64,
// *float64 or *time.Duration.
type bound struct {
	Bound
	field func(*Limits) any
}

const (
	minute = 60
	day    = 24 * 60 * 60
)

// bounds is the one table of limits: names, fields, defaults, reasons, order.
var bounds = []bound{
	{Bound{events.LimitMaxTasks, "tasks that a run may create",
		"more tasks than this means the request was split too finely: calls cost more than they add",
		"tasks", 20, 1, 1000}, func(l *Limits) any { return &l.MaxTasks }},
	{Bound{events.LimitMaxTaskChars, "size of one task's text",
		"a task is an assignment of a paragraph or two, and every specialist reads it",
		UnitChars, 4000, 64, 1_000_000}, func(l *Limits) any { return &l.MaxTaskChars }},
	{Bound{events.LimitMaxFacilitatorTurns, "model turns of the facilitator",
		"three per task of a full board: dispatch, check, consolidate",
		"turns", 60, 1, 1000}, func(l *Limits) any { return &l.MaxFacilitatorTurns }},
	{Bound{events.LimitMaxSpecialistTurns, "model turns of a specialist in one dispatch",
		"reading, then writing and completing a handful of tasks, with room to correct mistakes",
		"turns", 24, 1, 1000}, func(l *Limits) any { return &l.MaxSpecialistTurns }},
	{Bound{events.LimitMaxDispatches, "dispatches of specialists in a run",
		"three per task of a full board: a first go, a failure, a follow-up",
		"dispatches", 60, 1, 1000}, func(l *Limits) any { return &l.MaxDispatches }},
	{Bound{events.LimitMaxParallelDispatches, "dispatches in progress at once in a run",
		"a whole team of the usual size at once, without one run taking over an endpoint",
		"dispatches", 8, 1, 64}, func(l *Limits) any { return &l.MaxParallelDispatches }},
	{Bound{events.LimitMaxToolCallsPerTurn, "tool calls that one model turn may make",
		"a full board completed or dispatched in one turn, with room; more is a model running away",
		"calls", 32, 1, 512}, func(l *Limits) any { return &l.MaxToolCallsPerTurn }},
	{Bound{events.LimitMaxEntryChars, "size of one document entry",
		"about twenty pages; longer text belongs into several slots",
		UnitChars, 64_000, 250, 2_000_000}, func(l *Limits) any { return &l.MaxEntryChars }},
	{Bound{events.LimitMaxDocumentChars, "size of all entries written in a run",
		"more than any model can read back, and the whole document is held in memory",
		UnitChars, 1_000_000, 1000, 100_000_000}, func(l *Limits) any { return &l.MaxDocumentChars }},
	{Bound{events.LimitMaxEntries, "document entries written in a run",
		"fifty for each task of a full board",
		"entries", 1000, 1, 100_000}, func(l *Limits) any { return &l.MaxEntries }},
	{Bound{events.LimitMaxReplyChars, "size of one model reply, arguments of its tool calls included",
		"several times the longest output of today's models; beyond it a stream has run away",
		UnitChars, 1_000_000, 1000, 20_000_000}, func(l *Limits) any { return &l.MaxReplyChars }},
	{Bound{events.LimitMaxEmptyReplies, "consecutive replies without text or tool calls before an agent is ended",
		"one is often an accident that a nudge fixes; after two the model has nothing to say",
		"replies", 2, 1, 20}, func(l *Limits) any { return &l.MaxEmptyReplies }},
	{Bound{events.LimitMaxToolResultChars, "size of one tool result as the model sees it",
		"some eight thousand tokens: a few such results fit every model's window",
		UnitChars, 32_000, 1000, 2_000_000}, func(l *Limits) any { return &l.MaxToolResultChars }},
	{Bound{events.LimitMaxReadChars, "characters that one read of the document returns",
		"fits into a tool result; the rest is read by section and slot",
		UnitChars, 24_000, 500, 1_000_000}, func(l *Limits) any { return &l.MaxReadChars }},
	{Bound{events.LimitMaxArtifactBytes, "size of all files kept in a run together; one may have 100 MB",
		"ten of the largest files, or thousands of ordinary ones",
		"bytes", 1_000_000_000, 1000, 100_000_000_000}, func(l *Limits) any { return &l.MaxArtifactBytes }},
	{Bound{events.LimitMaxTokens, "input and output tokens of all model calls of a run",
		"several times what a full board takes; a loop is stopped before it gets expensive",
		"tokens", 2_000_000, 1000, 10_000_000_000}, func(l *Limits) any { return &l.MaxTokens }},
	{Bound{events.LimitMaxCostUSD, "cost of all model calls of a run; 0 for no bound",
		"no bound, because a model without a known price cannot be held to one",
		UnitUSD, 0, 0, 1_000_000}, func(l *Limits) any { return &l.MaxCostUSD }},
	{Bound{events.LimitMaxSpecialistTokens, "input and output tokens of the model calls of one dispatch",
		"a quarter of the run's: one specialist that loops leaves enough for the others",
		"tokens", 500_000, 1000, 10_000_000_000}, func(l *Limits) any { return &l.MaxSpecialistTokens }},
	{Bound{events.LimitMaxSpecialistCostUSD, "cost of the model calls of one dispatch; 0 for no bound",
		"no bound, because a model without a known price cannot be held to one",
		UnitUSD, 0, 0, 1_000_000}, func(l *Limits) any { return &l.MaxSpecialistCostUSD }},
	{Bound{events.LimitMaxTime, "time that a run is driven; downtime between a stop and a resume does not count",
		"a full board in turns of half a minute; longer is a run that nobody waits for",
		UnitSeconds, 30 * minute, 1, 7 * day}, func(l *Limits) any { return &l.MaxTime }},
	{Bound{events.LimitSpecialistTimeout, "time of one dispatch, its tools included; waiting for the endpoint does not count",
		"every turn of a specialist at 25 seconds",
		UnitSeconds, 10 * minute, 1, day}, func(l *Limits) any { return &l.SpecialistTimeout }},
	{Bound{events.LimitToolTimeout, "time that one call of an external tool may take without reporting progress; dispatches and questions to specialists are bounded as specialists",
		"a search or a page takes seconds; a tool that works longer reports progress",
		UnitSeconds, minute, 1, day}, func(l *Limits) any { return &l.ToolTimeout }},
	{Bound{events.LimitSilenceNotice, "silence of a model or a tool after which a heartbeat is shown",
		"people begin to wonder after ten seconds",
		UnitSeconds, 10, 1, day}, func(l *Limits) any { return &l.SilenceNotice }},
	{Bound{events.LimitSilenceSlow, "silence of a model or a tool after which it is said to take longer than expected",
		"longer than a first token takes when all is well",
		UnitSeconds, 30, 1, day}, func(l *Limits) any { return &l.SilenceSlow }},
	{Bound{events.LimitSilenceTimeout, "silence of a model after which its reply is broken off and asked for again, and of a tool after which its specialist is ended; the default allows 10m once a reply has begun",
		"an endpoint that streams answers at once, so two minutes without a byte are a dead connection; a model that thinks hard writes nothing for longer",
		UnitSeconds, 120, 1, day}, func(l *Limits) any { return &l.SilenceTimeout }},
	{Bound{events.LimitWrapUpShare, "share of tokens, cost and time that is kept for the wrap-up",
		"one last turn that reads the document and answers",
		UnitPercent, 10, 1, 50}, func(l *Limits) any { return &l.WrapUpShare }},
}

// Bounds lists every bound of a run in the order in which they are shown.
func Bounds() []Bound {
	list := make([]Bound, len(bounds))
	for i, b := range bounds {
		list[i] = b.Bound
	}
	return list
}

// former are the names that bounds had while they counted bytes. Team files and logs
// that were written with them are read as before.
var former = map[events.Limit]events.Limit{
	events.LimitMaxTaskChars: "max_task_bytes", events.LimitMaxEntryChars: "max_entry_bytes", events.LimitMaxDocumentChars: "max_document_bytes",
	events.LimitMaxReplyChars: "max_reply_bytes", events.LimitMaxToolResultChars: "max_tool_result_bytes",
}

func findBound(name events.Limit) (bound, bool) {
	for _, b := range bounds {
		if b.Name == name {
			return b, true
		}
	}
	return bound{}, false
}

// Format writes a value of the bound for people: "20 tasks", "30m",
// "$1.50", "none" for a bound that is switched off.
func (b Bound) Format(value float64) string {
	if value == 0 && b.Min == 0 {
		return "none"
	}
	return b.plain(value)
}

func (b Bound) plain(value float64) string {
	switch b.Unit {
	case UnitSeconds:
		return formatDuration(seconds(value))
	case UnitUSD:
		return "$" + strconv.FormatFloat(value, 'f', -1, 64)
	case UnitPercent:
		return strconv.FormatFloat(value, 'f', -1, 64) + "%"
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + " " + b.Unit
}

// check says what is wrong with a value, "" if nothing is.
func (b Bound) check(value float64) string {
	if value == 0 && b.Min == 0 {
		return ""
	}
	if math.IsNaN(value) || value < b.Min || value > b.Max {
		return fmt.Sprintf("%s must be from %s to %s, not %s; leave it out for the default (%s)",
			b.Name, b.bare(b.Min), b.Format(b.Max), b.bare(value), b.Format(b.Default))
	}
	return ""
}

// bare is Format without a unit of things counted.
func (b Bound) bare(value float64) string {
	return strings.TrimSuffix(b.plain(value), " "+b.Unit)
}

// formatDuration is [time.Duration.String] without parts that are zero: "30m"
// for "30m0s". [time.ParseDuration] reads it.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }
