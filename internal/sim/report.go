package sim

import (
	"strconv"
	"time"

	"github.com/convene-run/convene/events"
)

// Report is what a server has to say about the requests since its start or reset.
type Report struct {
	Requests int `json:"requests"`
	// Served counts the replies sent whole, Unfinished those that began and did not
	// end, Refused all requests that got an error instead.
	Served     int `json:"served"`
	Unfinished int `json:"unfinished"`
	Refused    int `json:"refused"`
	// InFlight counts the requests that the counts above do not have yet. MaxInFlight is
	// the most that there were at once, each until the last of its reply goes out.
	InFlight    int `json:"in_flight"`
	MaxInFlight int `json:"max_in_flight"`
	// Duplicates counts the replies served whole to a request body of the same run
	// that had been served whole before: what a client paid for twice.
	Duplicates int `json:"duplicates"`
	// Faults counts the faults that happened, by name.
	Faults map[string]int `json:"faults"`
	// Tokens and CostUSD are of the replies served whole.
	Tokens  events.Usage `json:"tokens"`
	CostUSD float64      `json:"cost_usd"`
	// PaidTokens and PaidUSD are of all replies: of an unfinished one they count the input,
	// and the output that was sent.
	PaidTokens events.Usage `json:"paid_tokens"`
	PaidUSD    float64      `json:"paid_usd"`
	// CriticalPathMS and EarlyCriticalPathMS are those of the slowest run.
	CriticalPathMS      float64     `json:"critical_path_ms"`
	EarlyCriticalPathMS float64     `json:"early_critical_path_ms"`
	Runs                []RunReport `json:"runs"`
	// Records are the last 20,000 requests in order of arrival, the refusals by the
	// in-flight and per-minute limits and by the key left out; RecordsDropped were
	// before them, and the runs do not contain them.
	Records        []Record `json:"records,omitempty"`
	RecordsDropped int      `json:"records_dropped"`
}

// Record is one request.
type Record struct {
	told *limitTold
	// Number counts the requests from 1; faults are drawn by it.
	Number int `json:"number"`
	// Conversation is a hash of the system prompt and the first user message. Run is
	// the run header's value, else the conversation that the run began with.
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	Status       int    `json:"status"`
	// ArrivalMS is the time since the server's start or reset; the others count from
	// the arrival. PlannedMS is when the last chunk was due.
	ArrivalMS    float64 `json:"arrival_ms"`
	FirstChunkMS float64 `json:"first_chunk_ms"`
	LastChunkMS  float64 `json:"last_chunk_ms"`
	PlannedMS    float64 `json:"planned_ms"`
	// Tools are the tools that the reply called.
	Tools []string `json:"tools,omitempty"`
	// Fault names what was done wrong, "" if nothing.
	Fault string `json:"fault,omitempty"`
	// Whole is set when the reply was sent to its end, Duplicate when that had
	// happened before for the same body.
	Whole     bool `json:"whole"`
	Duplicate bool `json:"duplicate,omitempty"`

	epoch        int
	left         bool // its place is free again
	planned      time.Duration
	conversation *conversation
}

func (l *ledger) report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{
		Requests: l.number, Served: l.served, Unfinished: l.unfinished, Refused: l.refused,
		InFlight: l.open, MaxInFlight: l.max, Duplicates: l.duplicates,
		Faults: map[string]int{}, Tokens: l.tokens, CostUSD: l.price.of(l.tokens) - l.price.of(l.flexTokens)/2,
		PaidTokens: l.paid, PaidUSD: l.price.of(l.paid) - l.price.of(l.flexPaid)/2,
		Runs: l.runs(), Records: make([]Record, len(l.records)), RecordsDropped: l.dropped,
	}
	for name, n := range l.faults {
		r.Faults[name] = n
	}
	for i, record := range l.records {
		r.Records[i] = *record
	}
	for _, run := range r.Runs {
		r.CriticalPathMS = max(r.CriticalPathMS, run.CriticalPathMS)
		r.EarlyCriticalPathMS = max(r.EarlyCriticalPathMS, run.EarlyCriticalPathMS)
	}
	return r
}

// of gives the cost of tokens in US dollars.
func (p Price) of(u events.Usage) float64 {
	const million = 1e6
	return (float64(u.InputTokens-u.CachedInputTokens)*p.Input +
		float64(u.CachedInputTokens)*p.CachedInput + float64(u.OutputTokens)*p.Output) / million
}

// name gives the fault as it is ordered on the command line.
func (f Fault) name() string {
	if f.Kind == FaultStatus {
		return strconv.Itoa(f.Status)
	}
	return string(f.Kind)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func hex(n uint64) string { return strconv.FormatUint(n, 16) }
