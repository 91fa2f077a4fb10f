// Package recording records the requests to models and their replies, and replays them, so
// that tests of a team run without a model. [Record] wraps a client, [Replay] gives one that
// answers from the recording.
package recording
