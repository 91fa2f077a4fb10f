package events

// Kinds that record what a run met on its way.
const (
	KindWarning      Kind = "warning"
	KindLimitReached Kind = "limit_reached"
)

// Warning codes that readers may rely on.
const (
	WarnTaskIDCorrected   = "task_id_corrected"
	WarnTaskAutoCompleted = "task_auto_completed"
	WarnStreamInterrupted = "stream_interrupted"
	WarnRestMissing       = "rest_missing"
	// WarnDoorChanged: an endpoint wants a model asked by another API than the usual.
	WarnDoorChanged = "api_changed"
	// WarnKeptDropped: an endpoint refused what it was sent back of earlier replies.
	WarnKeptDropped = "kept_dropped"
	// WarnTierMissing: an endpoint served a model in the ordinary service tier though
	// another was asked for.
	WarnTierMissing    = "tier_missing"
	WarnFallbackModel  = "fallback_model"
	WarnOutcomeUnknown = "outcome_unknown"
	WarnToolPanicked   = "tool_panicked"
	WarnLeftBehind     = "left_behind"
	WarnReplyCut       = "reply_cut"
	WarnReplyFiltered  = "reply_filtered"
	// WarnHistoryClipped: a summary of a history was too long, or empty.
	WarnHistoryClipped = "history_clipped"
	// WarnTransitionDepth: agents passed the conversation on too often in a row.
	WarnTransitionDepth = "transition_depth"
)

// Warning is a problem that was fixed or tolerated, and that a person may want
// to know.
type Warning struct {
	fact
	Code    string `json:"code"`
	Message string `json:"message"`
}

// LimitReached says that a bound was met and what follows from it.
type LimitReached struct {
	fact
	Limit Limit `json:"limit"`
	// Value is the bound, Used what was reached, both in the limit's own unit.
	Value float64 `json:"value"`
	Used  float64 `json:"used"`
	// Consequence says in words what the run does now.
	Consequence string `json:"consequence"`
}

func (Warning) Kind() Kind      { return KindWarning }
func (LimitReached) Kind() Kind { return KindLimitReached }
