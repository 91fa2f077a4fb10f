package events

// Kinds about a batch. They stand in the batch's own thread, whose id is the
// batch's, and belong to no run.
const (
	KindBatchStarted     Kind = "batch_started"
	KindBatchProgress    Kind = "batch_progress"
	KindBatchRowRejected Kind = "batch_row_rejected"
	KindBatchEnded       Kind = "batch_ended"
)

// BatchRow says which row of which batch a run works on.
type BatchRow struct {
	Batch BatchID `json:"batch_id"`
	// Row is the row's id, unique in its batch; Index its place in the input, from 0.
	Row   string `json:"row_id"`
	Index int    `json:"index"`
	// Line is where a row without an id of its own begins in its file, from 1: people know
	// it by that. 0 for all others.
	Line int `json:"line,omitempty"`
	// Attempt counts how often the row was retried after a failure, from 0.
	Attempt int `json:"attempt,omitempty"`
	// Folder is the row's own folder, whose files its agents' tools read in place of the
	// team's: relative to the root that whoever runs the batch names. "" where it has none.
	Folder string `json:"folder,omitempty"`
}

// BatchStarted says that a process took a batch up: for the first time, or again.
type BatchStarted struct {
	fact
	// Input and Output are the names of the files as they were given; empty where rows
	// came from a program.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	// Command is the command line that continues the batch, to be run in Folder; empty
	// where none does.
	Command string `json:"command,omitempty"`
	Folder  string `json:"folder,omitempty"`
	// Team is asked by rows that name none, Models are what its agents call.
	Team      string   `json:"team"`
	Models    []string `json:"models"`
	Solo      bool     `json:"solo,omitempty"`
	Simulated bool     `json:"simulated,omitempty"`
	// Rows is the number of rows, 0 where nobody knows.
	Rows        int `json:"rows"`
	Concurrency int `json:"concurrency"`
	// MaxCostUSD, MaxTokens and MaxFailures bound the whole batch; the zero value is no
	// bound. MaxFailures is a number or a share such as "3%".
	MaxCostUSD  float64 `json:"max_cost_usd,omitempty"`
	MaxTokens   int64   `json:"max_tokens,omitempty"`
	MaxFailures string  `json:"max_failures,omitempty"`
	// Resumed is set where an earlier call of the batch is gone on with; Attempt counts
	// the retries of its failed rows.
	Resumed       bool   `json:"resumed,omitempty"`
	Attempt       int    `json:"attempt,omitempty"`
	Owner         Owner  `json:"owner"`
	BinaryVersion string `json:"binary_version,omitempty"`
}

// BatchFigures is where a batch stands, earlier calls of it included where nothing
// else is said.
type BatchFigures struct {
	// Done counts the rows with an output; it is the sum of the three below it.
	Done      int `json:"done"`
	Completed int `json:"completed"`
	Degraded  int `json:"degraded"`
	Failed    int `json:"failed"`
	// Running counts the rows under way.
	Running int `json:"running"`
	// Tokens and CostUSD are spent, by rows under way too. CostUSD is nil where a model
	// has no known price.
	Tokens  int64    `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
	// UncachedInputShare is the part of the input of rows with an output, above 0 and at
	// most 1, that came from no cache of the provider; 0 where nothing is known.
	UncachedInputShare float64 `json:"uncached_input_share,omitempty"`
	// ElapsedMS and RowsPerSecond are of this call of the batch alone.
	ElapsedMS     int64   `json:"elapsed_ms"`
	RowsPerSecond float64 `json:"rows_per_second"`
	// LeftMS is how long the rest takes at this rate, ProjectedUSD what all rows will
	// cost if the others are like those done; 0 where that is unknown.
	LeftMS       int64   `json:"left_ms,omitempty"`
	ProjectedUSD float64 `json:"projected_cost_usd,omitempty"`
	// Causes are the failures and degradations by kind, the commonest first.
	Causes []BatchCause `json:"causes,omitempty"`
	// Slowest are the rows under way for longest.
	Slowest []BatchRowUnderWay `json:"slowest,omitempty"`
	// Limiters are the endpoints that the batch asks.
	Limiters []BatchLimiter `json:"limiters,omitempty"`
	// Outages are the endpoints that rows under way wait for, because they cannot be used;
	// Held counts the rows that are not begun before their endpoint can be.
	Outages []BatchOutage `json:"outages,omitempty"`
	Held    int           `json:"held,omitempty"`
}

// BatchOutage is an endpoint that cannot be used.
type BatchOutage struct {
	// Endpoint is its address, without user info and query; its name where it has none.
	Endpoint string `json:"endpoint"`
	// Code groups troubles for machines, Message says in words what is wrong.
	Code    string `json:"code"`
	Message string `json:"message"`
	// Rows counts the rows under way that wait for it, AwayMS is for how long it has been
	// away.
	Rows   int   `json:"rows"`
	AwayMS int64 `json:"away_ms"`
}

// BatchCause is one kind of failure.
type BatchCause struct {
	// Code groups failures for machines; Status is what the rows ended as.
	Code   string `json:"code"`
	Status Status `json:"status"`
	Count  int    `json:"count"`
	// Row, Line, Run and Message are of the first row that it happened to; Line is that of
	// [BatchRow], Run is empty where the row never had one.
	Row     string `json:"row_id"`
	Line    int    `json:"line,omitempty"`
	Run     RunID  `json:"run_id,omitempty"`
	Message string `json:"message"`
}

// BatchRowUnderWay is a row under way.
type BatchRowUnderWay struct {
	Row   string `json:"row_id"`
	Index int    `json:"index"`
	// Line is that of [BatchRow].
	Line      int   `json:"line,omitempty"`
	Run       RunID `json:"run_id"`
	ElapsedMS int64 `json:"elapsed_ms"`
	// Doing says what its agents do, in words.
	Doing string `json:"doing,omitempty"`
}

// BatchLimiter is what holds calls of one endpoint back.
type BatchLimiter struct {
	Endpoint string `json:"endpoint"`
	// Limit is how many calls may be in flight, InFlight how many are, Waiting how many
	// wait for their turn.
	Limit    int `json:"limit"`
	InFlight int `json:"in_flight"`
	Waiting  int `json:"waiting"`
	// RequestsPerMinute and TokensPerMinute are the limits kept to; 0 where there is none.
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int `json:"tokens_per_minute,omitempty"`
	// HeldBackMS is for how long the endpoint still takes no call at all.
	HeldBackMS int64 `json:"held_back_ms,omitempty"`
}

// BatchProgress tells now and then where a batch under way stands.
type BatchProgress struct {
	fact
	BatchFigures
	// Stopping says why no more rows are started, while those in progress finish.
	Stopping string `json:"stopping,omitempty"`
}

// BatchRowRejected is a row that cannot be run, and never had a run.
type BatchRowRejected struct {
	fact
	Row   string `json:"row_id"`
	Index int    `json:"index"`
	// Line is where the row begins in its file, from 1; 0 if it is from none.
	Line    int    `json:"line,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// BatchEnded says that the process let go of the batch in good order. More calls of
// the batch may follow.
type BatchEnded struct {
	fact
	BatchFigures
	// Status is "completed" where every row has an output and all are good, "degraded"
	// where some failed, "failed" where all did or the batch cannot go on as it is,
	// "suspended" where rows are left, "cancelled" where it was given up to start over.
	Status Status `json:"status"`
	// Reason says in words why rows are left; empty where none is.
	Reason string `json:"reason,omitempty"`
	// Left counts the rows that have no output; -1 where nobody knows.
	Left int `json:"left"`
}

func (BatchStarted) Kind() Kind     { return KindBatchStarted }
func (BatchProgress) Kind() Kind    { return KindBatchProgress }
func (BatchRowRejected) Kind() Kind { return KindBatchRowRejected }
func (BatchEnded) Kind() Kind       { return KindBatchEnded }
