package sim

import "time"

// Options are the settings of a simulated model and of its server. The zero value
// is a model that answers at once and well.
type Options struct {
	// Seed varies the text and the faults. Equal seeds give equal replies.
	Seed uint64

	// FirstToken is the time from the request to its first chunk, PerChunk the time
	// between chunks. Chunk i is due at start + FirstToken + i*PerChunk, so a late
	// chunk does not delay the ones behind it. Both default to 0: no pacing.
	FirstToken time.Duration
	PerChunk   time.Duration

	// ChunkBytes is the size of a chunk. Defaults to 16, about four tokens.
	ChunkBytes int
	// Chunks cuts every reply into exactly this many chunks, at most 1,000, for
	// benchmarks; replies too short for it begin with a sentence of padding. Only a
	// reply with as many tool calls has more: each takes one.
	// Defaults to 0: by ChunkBytes.
	Chunks int

	// EarlyDispatch makes the facilitator create the tasks and dispatch the
	// specialists in one turn, with the task ids it expects to get.
	EarlyDispatch bool
	// SlowDispatch makes the calls that dispatch specialists stream this many times
	// slower, and each specialist of the plan work faster than the one before it: the
	// n-th is n times as fast. So it pays to start the first early. 0 and 1 change
	// nothing.
	SlowDispatch int
	// Bench plays a run of exactly 16 calls: four of the facilitator and four of each
	// of the first three specialists of the team.
	Bench bool
	// Behaviour makes the model misbehave. Defaults to BehaveWell.
	Behaviour Behaviour

	// The rest is of the server only.

	// Faults are what the server does wrong. Defaults to none.
	Faults Faults
	// Coalesce lets the server write chunks that are due at the same time at once.
	// By default every chunk is flushed by itself.
	Coalesce bool
	// Price gives the cost in the report. Defaults to free of charge.
	Price Price
}

// Price is what the simulated endpoint charges, in US dollars per million tokens; in the
// flex tier it is half of that.
type Price struct {
	Input, CachedInput, Output float64
}

// Behaviour is a way in which the played model is no good.
type Behaviour string

// The behaviours. All are bounded by whoever calls the model, not by the model.
const (
	BehaveWell Behaviour = ""
	// BehaveEndless calls tools forever, whatever it is told, even with tool_choice none.
	BehaveEndless Behaviour = "endless"
	// BehaveCircles dispatches the same tasks again and again until it must answer.
	BehaveCircles Behaviour = "circles"
	// BehaveOnce dispatches once and then answers, whatever came of it and whatever it
	// is told.
	BehaveOnce Behaviour = "once"
	// BehaveFlood creates 500 tasks at once; after the refusal it creates a few.
	BehaveFlood Behaviour = "flood"
	// BehaveHuge ends every conversation with ten megabytes of text.
	BehaveHuge Behaviour = "huge"
	// BehaveEmpty answers nothing at all.
	BehaveEmpty Behaviour = "empty"
	// BehaveDecline has each specialist decline the last of its tasks. The facilitator
	// finds somebody else for the first of these, and names the others in its answer.
	BehaveDecline Behaviour = "decline"
)

// Behaviours lists the behaviours by name, for flags and help texts.
func Behaviours() []Behaviour {
	return []Behaviour{BehaveWell, BehaveEndless, BehaveCircles, BehaveOnce, BehaveFlood, BehaveHuge, BehaveEmpty, BehaveDecline}
}

const (
	defaultChunkBytes = 16
	// maxChunks bounds the chunks of one reply, so that a ten megabyte reply is not a
	// million writes.
	maxChunks = 1000
	// maxTurns is where the model gives up on a job: a good one takes below ten turns,
	// one with faults and nudges below thirty.
	maxTurns = 60
)
