package events

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Limit names a bound of a run. `convene team show` prints them all.
type Limit string

// The names of the bounds, as the limits of a team file and the log's limit_reached
// events write them.
const (
	LimitMaxTasks              Limit = "max_tasks"
	LimitMaxTaskChars          Limit = "max_task_chars"
	LimitMaxFacilitatorTurns   Limit = "max_facilitator_turns"
	LimitMaxSpecialistTurns    Limit = "max_specialist_turns"
	LimitMaxDispatches         Limit = "max_dispatches"
	LimitMaxParallelDispatches Limit = "max_parallel_dispatches"
	LimitMaxToolCallsPerTurn   Limit = "max_tool_calls_per_turn"
	LimitMaxEntryChars         Limit = "max_entry_chars"
	LimitMaxDocumentChars      Limit = "max_document_chars"
	LimitMaxEntries            Limit = "max_entries"
	LimitMaxReplyChars         Limit = "max_reply_chars"
	LimitMaxEmptyReplies       Limit = "max_empty_replies"
	LimitMaxToolResultChars    Limit = "max_tool_result_chars"
	LimitMaxArtifactBytes      Limit = "max_artifact_bytes"
	LimitMaxReadChars          Limit = "max_read_chars"
	LimitMaxTokens             Limit = "max_tokens"
	LimitMaxCostUSD            Limit = "max_cost_usd"
	LimitMaxSpecialistTokens   Limit = "max_specialist_tokens"
	LimitMaxSpecialistCostUSD  Limit = "max_specialist_cost_usd"
	LimitMaxTime               Limit = "max_time"
	LimitSpecialistTimeout     Limit = "specialist_timeout"
	LimitToolTimeout           Limit = "tool_timeout"
	LimitSilenceNotice         Limit = "silence_notice"
	LimitSilenceSlow           Limit = "silence_slow"
	LimitSilenceTimeout        Limit = "silence_timeout"
	LimitWrapUpShare           Limit = "wrap_up_share"
)

// The bounds that several runs share. No team sets them; limit_reached names them.
const (
	LimitSharedTokens  Limit = "shared_max_tokens"
	LimitSharedCostUSD Limit = "shared_max_cost_usd"
)

// The bounds of a tenant, as a file of tenants writes them.
const (
	LimitTenantRuns    Limit = "runs_at_once"
	LimitTenantTokens  Limit = "tokens_per_day"
	LimitTenantDollars Limit = "dollars_per_day"
)

// flags are the bounds that the command line sets. Those that runs share are a batch's.
var flags = map[Limit]string{
	LimitMaxTasks: "--max-tasks", LimitMaxTokens: "--max-tokens", LimitMaxCostUSD: "--max-cost", LimitMaxTime: "--timeout",
	LimitSharedTokens: "--max-tokens", LimitSharedCostUSD: "--max-cost",
}

// Flag names a bound as people give it: by the flag that sets it, else by its name in a
// team file.
func Flag(limit Limit) string {
	if flag := flags[limit]; flag != "" {
		return flag
	}
	return string(limit)
}

// LimitError says that a bound was met, or that it would have been: what was refused
// then counts in Used.
type LimitError struct {
	Limit       Limit
	Value, Used float64
	// Advice is what the error says where a model can do something about it, in place of
	// the words for people.
	Advice string
	// Suffices is what would have admitted the call that was refused; 0 where the bound
	// is not one of calls.
	Suffices float64
}

func (e *LimitError) Error() string {
	if e.Advice != "" {
		return e.Advice
	}
	bound := fmt.Sprintf("the limit %s=%s", Flag(e.Limit), Amount(e.Limit, e.Value))
	if e.Used == 0 && e.Suffices > 0 {
		return fmt.Sprintf("%s does not allow a first model call; %s %s would, and a whole run takes several times that",
			bound, Flag(e.Limit), Amount(e.Limit, RoundUp(e.Suffices)))
	}
	return fmt.Sprintf("%s is reached (%s used)", bound, Amount(e.Limit, e.Used))
}

// RoundUp gives the next higher number of two digits that count, for advice.
func RoundUp(v float64) float64 {
	if v <= 0 {
		return v
	}
	digits := 1 - int(math.Floor(math.Log10(v)))
	up, err := strconv.ParseFloat(fmt.Sprintf("%.0fe%d", math.Ceil(v*math.Pow10(digits)), -digits), 64)
	if err != nil {
		return v
	}
	return up
}

// Amount writes the value of a bound for people: a time with its unit, anything else
// whole where it is large, or with the digits that matter.
func Amount(limit Limit, v float64) string {
	switch limit {
	case LimitMaxTime, LimitSpecialistTimeout, LimitSilenceTimeout, LimitToolTimeout:
		return time.Duration(v * float64(time.Second)).Round(10 * time.Millisecond).String()
	}
	if v >= 1e5 {
		return fmt.Sprintf("%.0f", v)
	}
	if v > 0 && v < 1e-4 {
		return strconv.FormatFloat(v, 'f', -1, 64) // as people type it, not as 1e-05
	}
	return fmt.Sprintf("%.6g", v)
}

// Fact gives the event that records the bound.
func (e *LimitError) Fact(consequence string) LimitReached {
	return LimitReached{Limit: e.Limit, Value: e.Value, Used: e.Used, Consequence: consequence}
}
