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
	WarnFallbackModel     = "fallback_model"
	WarnOutcomeUnknown    = "outcome_unknown"
	WarnToolPanicked      = "tool_panicked"
	WarnReplyCut          = "reply_cut"
	WarnReplyFiltered     = "reply_filtered"
)

// Warning is a thing that was mended or tolerated, and that a person may want
// to know.
type Warning struct {
	fact
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Limit names a bound of a run. `convene team show` prints them all.
type Limit string

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
