package tenants

import "time"

// Limits are what a tenant may use, and how long what it leaves is kept. The zero value bounds
// nothing and keeps everything.
type Limits struct {
	// RunsAtOnce bounds the runs that a process drives at once for the tenant; 0 is no bound.
	RunsAtOnce int
	// TokensPerDay and DollarsPerDay bound what the model calls of the tenant use in a day of
	// UTC; 0 is no bound.
	TokensPerDay  int64
	DollarsPerDay float64
	// Retention is how long what the tenant leaves is kept.
	Retention Retention
}

// Retention says how long what has ended, or rests, is kept; 0 is until somebody removes it.
// What is under way is always kept.
type Retention struct {
	// Runs is for threads that one request began and no message of a conversation is in,
	// since their newest run ended.
	Runs time.Duration
	// Batches is for batches with their rows, since they ended.
	Batches time.Duration
	// Conversations is for threads in which users write messages, since the newest event.
	Conversations time.Duration
	// SavedState is for runs that were parked, or wait for somebody, since they were parked:
	// what a workflow keeps to be continued. Files leave it at [DefaultSavedState] unless
	// they say otherwise.
	SavedState time.Duration
}

// DefaultSavedState is how long the saved state of a workflow is kept where a file of tenants
// does not say otherwise: as long as a handoff session may be resumed.
const DefaultSavedState = 30 * day

const day = 24 * time.Hour
