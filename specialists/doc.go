// Package specialists is the specialist agent: its prompt, its tools on the board
// and the document, and the [Dispatcher] that drives dispatches in this process. A
// specialist can also be a Go function, a [Function].
//
// A dispatch is a new agent with its own history. It begins with agent_started,
// which the facilitator's dispatch tool decides, and ends with agent_finished,
// which answers that tool's call.
package specialists
