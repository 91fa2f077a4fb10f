package team

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// The names of the bounds, as a team file's limits and the log's limit_reached
// events write them.
const (
	LimitMaxTasks              events.Limit = "max_tasks"
	LimitMaxTaskBytes          events.Limit = "max_task_bytes"
	LimitMaxFacilitatorTurns   events.Limit = "max_facilitator_turns"
	LimitMaxSpecialistTurns    events.Limit = "max_specialist_turns"
	LimitMaxDispatches         events.Limit = "max_dispatches"
	LimitMaxParallelDispatches events.Limit = "max_parallel_dispatches"
	LimitMaxToolCallsPerTurn   events.Limit = "max_tool_calls_per_turn"
	LimitMaxEntryBytes         events.Limit = "max_entry_bytes"
	LimitMaxDocumentBytes      events.Limit = "max_document_bytes"
	LimitMaxEntries            events.Limit = "max_entries"
	LimitMaxReplyBytes         events.Limit = "max_reply_bytes"
	LimitMaxEmptyReplies       events.Limit = "max_empty_replies"
	LimitMaxToolResultBytes    events.Limit = "max_tool_result_bytes"
	LimitMaxReadChars          events.Limit = "max_read_chars"
	LimitMaxTokens             events.Limit = "max_tokens"
	LimitMaxCostUSD            events.Limit = "max_cost_usd"
	LimitMaxSpecialistTokens   events.Limit = "max_specialist_tokens"
	LimitMaxSpecialistCostUSD  events.Limit = "max_specialist_cost_usd"
	LimitMaxTime               events.Limit = "max_time"
	LimitSpecialistTimeout     events.Limit = "specialist_timeout"
	LimitSilenceNotice         events.Limit = "silence_notice"
	LimitSilenceSlow           events.Limit = "silence_slow"
	LimitSilenceTimeout        events.Limit = "silence_timeout"
	LimitWrapUpShare           events.Limit = "wrap_up_share"
)

// The bounds that several runs share. No team sets them; limit_reached names them.
const (
	LimitSharedTokens  events.Limit = "shared_max_tokens"
	LimitSharedCostUSD events.Limit = "shared_max_cost_usd"
)

// Units of bounds.
const (
	UnitSeconds = "seconds"
	UnitUSD     = "USD"
	UnitPercent = "%"
	UnitBytes   = "bytes"
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
	kib    = 1 << 10
	mib    = 1 << 20
	minute = 60
	day    = 24 * 60 * 60
)

// bounds is the one table of limits: names, fields, defaults, reasons, order.
var bounds = []bound{
	{Bound{LimitMaxTasks, "tasks that a run may create",
		"more tasks than this means a request cut too fine: calls cost more than they add",
		"tasks", 20, 1, 1000}, func(l *Limits) any { return &l.MaxTasks }},
	{Bound{LimitMaxTaskBytes, "size of one task's text",
		"a task is an assignment of a paragraph or two, and every specialist reads it",
		UnitBytes, 4 * kib, 64, 256 * kib}, func(l *Limits) any { return &l.MaxTaskBytes }},
	{Bound{LimitMaxFacilitatorTurns, "model turns of the facilitator",
		"three per task of a full board: dispatch, check, consolidate",
		"turns", 60, 1, 1000}, func(l *Limits) any { return &l.MaxFacilitatorTurns }},
	{Bound{LimitMaxSpecialistTurns, "model turns of a specialist in one dispatch",
		"reading, then writing and completing a handful of tasks, with room for mended mistakes",
		"turns", 24, 1, 1000}, func(l *Limits) any { return &l.MaxSpecialistTurns }},
	{Bound{LimitMaxDispatches, "dispatches of specialists in a run",
		"three per task of a full board: a first go, a failure, a follow-up",
		"dispatches", 60, 1, 1000}, func(l *Limits) any { return &l.MaxDispatches }},
	{Bound{LimitMaxParallelDispatches, "dispatches under way at once in a run",
		"a whole team of usual size at once, without one run taking all of an endpoint",
		"dispatches", 8, 1, 64}, func(l *Limits) any { return &l.MaxParallelDispatches }},
	{Bound{LimitMaxToolCallsPerTurn, "tool calls that one model turn may make",
		"a full board completed or dispatched in one turn, with room; more is a model running away",
		"calls", 32, 1, 512}, func(l *Limits) any { return &l.MaxToolCallsPerTurn }},
	{Bound{LimitMaxEntryBytes, "size of one document entry",
		"about twenty pages; longer text belongs into several slots",
		UnitBytes, 64 * kib, 256, mib}, func(l *Limits) any { return &l.MaxEntryBytes }},
	{Bound{LimitMaxDocumentBytes, "size of all entries written in a run",
		"more than any model can read back, and the whole document is held in memory",
		UnitBytes, mib, kib, 64 * mib}, func(l *Limits) any { return &l.MaxDocumentBytes }},
	{Bound{LimitMaxEntries, "document entries written in a run",
		"fifty for each task of a full board",
		"entries", 1000, 1, 100_000}, func(l *Limits) any { return &l.MaxEntries }},
	{Bound{LimitMaxReplyBytes, "size of one model reply, arguments of its tool calls included",
		"several times the longest output of today's models; beyond it a stream has run away",
		UnitBytes, mib, kib, 16 * mib}, func(l *Limits) any { return &l.MaxReplyBytes }},
	{Bound{LimitMaxEmptyReplies, "replies without text and tool calls in a row, before an agent is ended",
		"one is often an accident, and a nudge mends it; two are a model that has nothing to say",
		"replies", 2, 1, 20}, func(l *Limits) any { return &l.MaxEmptyReplies }},
	{Bound{LimitMaxToolResultBytes, "size of one tool result as the model sees it",
		"some eight thousand tokens: a few such results fit every model's window",
		UnitBytes, 32 * kib, kib, mib}, func(l *Limits) any { return &l.MaxToolResultBytes }},
	{Bound{LimitMaxReadChars, "characters that one read of the document gives",
		"fits into a tool result where most letters take one byte; the rest is read by section and slot",
		"characters", 24_000, 500, 1_000_000}, func(l *Limits) any { return &l.MaxReadChars }},
	{Bound{LimitMaxTokens, "input and output tokens of all model calls of a run",
		"several times what a full board takes; a loop is stopped before it is dear",
		"tokens", 2_000_000, 1000, 10_000_000_000}, func(l *Limits) any { return &l.MaxTokens }},
	{Bound{LimitMaxCostUSD, "cost of all model calls of a run; 0 for no bound",
		"no bound, because a model without a known price cannot be held to one",
		UnitUSD, 0, 0, 1_000_000}, func(l *Limits) any { return &l.MaxCostUSD }},
	{Bound{LimitMaxSpecialistTokens, "input and output tokens of the model calls of one dispatch",
		"a quarter of the run's: one specialist that loops leaves enough for the others",
		"tokens", 500_000, 1000, 10_000_000_000}, func(l *Limits) any { return &l.MaxSpecialistTokens }},
	{Bound{LimitMaxSpecialistCostUSD, "cost of the model calls of one dispatch; 0 for no bound",
		"no bound, because a model without a known price cannot be held to one",
		UnitUSD, 0, 0, 1_000_000}, func(l *Limits) any { return &l.MaxSpecialistCostUSD }},
	{Bound{LimitMaxTime, "time that a run is driven; downtime between a stop and a resume does not count",
		"a full board in turns of half a minute; longer is a run that nobody waits for",
		UnitSeconds, 30 * minute, 1, 7 * day}, func(l *Limits) any { return &l.MaxTime }},
	{Bound{LimitSpecialistTimeout, "time of one dispatch; waiting for the limiter does not count",
		"every turn of a specialist at 25 seconds",
		UnitSeconds, 10 * minute, 1, day}, func(l *Limits) any { return &l.SpecialistTimeout }},
	{Bound{LimitSilenceNotice, "silence of a model after which a heartbeat is shown",
		"people begin to wonder after ten seconds",
		UnitSeconds, 10, 1, day}, func(l *Limits) any { return &l.SilenceNotice }},
	{Bound{LimitSilenceSlow, "silence of a model after which it is said to take longer than expected",
		"longer than a first token takes when all is well",
		UnitSeconds, 30, 1, day}, func(l *Limits) any { return &l.SilenceSlow }},
	{Bound{LimitSilenceTimeout, "silence of a model after which its specialist is ended",
		"a reasoning model may think for a minute; two without a byte is a dead connection",
		UnitSeconds, 120, 1, day}, func(l *Limits) any { return &l.SilenceTimeout }},
	{Bound{LimitWrapUpShare, "share of tokens, cost and time that is kept for the wrap-up",
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

func findBound(name events.Limit) (bound, bool) {
	for _, b := range bounds {
		if b.Name == name {
			return b, true
		}
	}
	return bound{}, false
}

// Format writes a value of the bound for people: "20 tasks", "64 KiB", "30m",
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
	case UnitBytes:
		return formatBytes(value)
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

func formatBytes(value float64) string {
	switch {
	case value >= mib && math.Mod(value, mib) == 0:
		return strconv.FormatFloat(value/mib, 'f', -1, 64) + " MiB"
	case value >= kib && math.Mod(value, kib) == 0:
		return strconv.FormatFloat(value/kib, 'f', -1, 64) + " KiB"
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + " bytes"
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
