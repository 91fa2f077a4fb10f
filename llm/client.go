package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/convene-run/convene/events"
)

// Client streams replies of one endpoint. It is safe for concurrent use.
type Client interface {
	// Stream sends the request and yields what comes back. The last delta of a whole
	// reply has Done set and a nil error; a stream that ends otherwise yields exactly
	// one error, an [*Error] wherever the endpoint is at fault, and nothing behind it.
	// Breaking out of the loop, or the end of ctx, closes the connection.
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Request is one call of a model.
type Request struct {
	// Model is the name as the endpoint knows it.
	Model    string
	Messages []events.Message
	// Tools are offered in this order, always the same for one agent, so that prompt
	// caches hit.
	Tools      []Tool
	ToolChoice ToolChoice
	// Temperature is sent where it is not nil; zero is a value.
	Temperature *float64
	// MaxOutputTokens bounds the reply; 0 leaves it to the endpoint.
	MaxOutputTokens int
	// Effort is how much the model thinks, one of [effort.Levels]; each adapter sends the
	// word that the model takes. Empty leaves it to the endpoint.
	//
	// [effort.Levels]: https://pkg.go.dev/github.com/convene-run/convene/llm/effort#Levels
	Effort string
	// Tier is the service tier to ask for, where the provider has it. Empty leaves it to
	// the endpoint.
	Tier Tier
	// Silence bounds how long nothing may come of the reply; the zero value leaves it to
	// the endpoint's client. It is not sent.
	Silence Silence

	// CacheKey names what the request begins with, its system prompt and its tools:
	// equal for all requests of one agent of a team, and nothing of their users in it.
	// Providers that take one steer requests by it to where that beginning is in a
	// cache. Empty sends none.
	CacheKey string

	// API is the one to ask by; empty leaves it to the endpoint's client. Doors are the
	// APIs by which this conversation was answered before, by provider.
	API   events.API
	Doors map[string]events.API

	// Tenant, Run, Call and Priority are not sent. They tell the limiter whose turn it is
	// and a log line what it is about.
	Tenant   events.TenantID
	Run      events.RunID
	Call     events.ModelCallID
	Priority Priority
	// MaxWait is how long the call waits for an endpoint that cannot be used, when all
	// ordinary attempts have failed: 0 not at all, below 0 without end. Only [Caller]
	// looks at it.
	MaxWait time.Duration
	// Begin, once it ends, keeps requests from going out: a call that waits, for its turn,
	// for another attempt or for an endpoint, then ends with Begin's cause. One that has
	// gone out comes to its end. nil never ends.
	Begin context.Context
}

// Tier is a service tier: how soon a request is served, and at what price.
type Tier string

// The tiers that can be asked for.
const (
	TierFlex     Tier = "flex"     // cheaper and slower, refused while there is no room
	TierStandard Tier = "standard" // the ordinary one
	TierPriority Tier = "priority" // faster and more expensive
)

// Silence is how long nothing may come of a reply: before its first byte, and between
// two bytes after that. 0 is the default of whoever watches.
type Silence struct{ First, Next time.Duration }

// DefaultSilence leaves a local server time to load a model before the first byte, since
// every endpoint that streams answers at once, and a model that thinks hard time to write
// nothing for minutes.
var DefaultSilence = Silence{First: 2 * time.Minute, Next: 10 * time.Minute}

// FlexSilence is how long the flex tier may queue before the first byte.
// https://developers.openai.com/api/docs/guides/flex-processing
const FlexSilence = 15 * time.Minute

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of an object, always the same bytes.
	Parameters json.RawMessage
	// Search makes this the provider's own web search, which the provider runs while it
	// writes the reply; nil is a function. Chat completions have none.
	Search *WebSearch `json:",omitempty"`
}

// WebSearch sets a provider's web search.
type WebSearch struct {
	// Allow are the domains, with those below them, that may be found; empty is all.
	Allow []string `json:"allow,omitempty"`
	// MaxUses bounds the searches of one reply.
	MaxUses int `json:"max_uses"`
}

// ToolChoice constrains the use of tools. Endpoints may ignore it (WIRE 20), so
// the caller checks the reply all the same.
type ToolChoice string

// The tool choices. The zero value leaves it to the model.
const (
	ToolChoiceAuto ToolChoice = ""
	ToolChoiceNone ToolChoice = "none"
)

// Priority orders the callers of a tenant that wait for the limiter: interactive before
// batch, and within a class the oldest run first.
type Priority int

// The priorities. The zero value is interactive.
const (
	PriorityInteractive Priority = iota
	PriorityBatch
)

// Delta is one piece of a reply. Exactly one of its parts is set, and perhaps More.
type Delta struct {
	// Sent is the number of the attempt, from 1, whose request goes out now: the wait
	// for the limiter is over. Only [Caller] sends it.
	Sent int
	// Text and Reasoning are new text.
	Text      string
	Reasoning string
	// Fragment is new text of the arguments of the call at Index, for those who
	// watch; Call brings the same call whole.
	Fragment string
	// Call is set as soon as the call at Index has streamed in whole, before the
	// stream ends. Calls come in the order of Index, which counts from 0. Extra is then
	// what [events.Reply.Extra] would be if the reply ended with it.
	Call  *events.ToolCall
	Index int
	Extra json.RawMessage
	// More says that what follows has come already, so that nothing is lost by waiting for it
	// before acting on this: the next delta, which is no failure, comes at once.
	More bool
	// Lost is what the attempt that has just failed used: it is paid for. A Retry or the
	// error of the call follows. Only [Caller] sends it.
	Lost *events.Spent
	// Retry announces that the attempt failed and that all deltas so far are void: a
	// new attempt follows after Retry.Wait. Only [Caller] sends it. A consumer that
	// has already acted on a call of the failed attempt breaks out of the loop.
	Retry *Retry
	// Away says that no endpoint of the route can be used, and that the call waits for
	// one. More may follow, until Back says that the wait is over or the call fails. Only
	// [Caller] sends them.
	Away *Away
	Back bool
	// Done closes a whole reply.
	Done *Completion
}

// Away is a wait for an endpoint to get well.
type Away struct {
	// Trouble is that of the first choice.
	Trouble Trouble
	// Since is when the call began to wait; GiveUp when it gives up, zero for never.
	Since, GiveUp time.Time
	// Next is when the endpoint is asked again, by this call or another one.
	Next time.Time
}

// Retry says why an attempt failed and what follows.
type Retry struct {
	// Attempt is the number of the attempt that failed, from 1.
	Attempt int
	Wait    time.Duration
	Err     error
	// Model is the model that the next attempt asks, a fallback perhaps.
	Model string
}

// Completion is a whole reply and what it took.
type Completion struct {
	Reply events.Reply
	Usage events.Usage
	// Model is the model as the endpoint named it, else as it was asked for.
	Model string
	// Provider names the endpoint.
	Provider string
	// Tier is the service tier that the endpoint says it served the request in, "" where
	// it says nothing.
	Tier string
	// Limits is what the endpoint says of its rate limits, nil where it says nothing.
	Limits *RateLimits
	// CostUSD is what the endpoint says it charges. [Caller] fills it by its prices
	// where it says nothing; nil where the model has no known price.
	CostUSD *float64
	// Queued is the wait for the limiter, and for a call of the same batch to have their
	// common prefix cached; Retried the wait between attempts;
	// FirstToken and Total are the last attempt's, from sending the request.
	Queued, Retried, FirstToken, Total time.Duration
	// API is the one that was asked; empty where there is but one.
	API events.API
	// Rerouted is set where the endpoint wanted another API than the usual.
	Rerouted bool
	// KeptDropped is set where the endpoint refused what it was sent back of earlier
	// replies, and answered without.
	KeptDropped bool
	// Attempts counts the requests sent for this reply, from 1.
	Attempts int
	// Failures are the attempts before the one that brought the reply, the newest
	// [events.MaxRetries] of them; Lost is what all of them used. Only [Caller] fills
	// them.
	Failures []Failure
	Lost     *events.Spent
}

// Failure is an attempt that failed.
type Failure struct {
	// Sent is when its request went out, counted from the beginning of the call; Ran
	// how long it took to fail; Wait the time until the next request went out, or until
	// the call was stopped, if it was while it waited.
	Sent, Ran, Wait time.Duration
	// Model is the model that was asked.
	Model string
	// Lost is what it used, nil if nothing.
	Lost *events.Spent
	Err  *Error
}

// Recorded gives the failure as the log has it: in milliseconds that leave no gap
// between one attempt and the next.
func (f *Failure) Recorded() events.FailedAttempt {
	sent, failed, next := f.Sent.Milliseconds(), (f.Sent + f.Ran).Milliseconds(), (f.Sent + f.Ran + f.Wait).Milliseconds()
	recorded := events.FailedAttempt{
		StartMS: sent, RanMS: failed - sent, WaitMS: next - failed,
		Error: string(f.Err.Kind), Status: f.Err.Status, Message: oneLine(f.Err.text()), Model: f.Model,
	}
	if f.Lost != nil {
		recorded.Usage, recorded.CostUSD = &f.Lost.Usage, f.Lost.CostUSD
	}
	return recorded
}

// recordedMessageRunes bounds what the log keeps of the words of a failure: enough
// to tell failures apart.
const recordedMessageRunes = 160

// oneLine makes a text one line of at most [recordedMessageRunes] characters that
// can be shown.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > recordedMessageRunes {
		return string(runes[:recordedMessageRunes-1]) + "…"
	}
	return string(runes)
}
