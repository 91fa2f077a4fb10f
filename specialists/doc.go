// Package specialists is the specialist agent: its prompt, its tools on the board
// and the document, and the [Dispatcher] that drives dispatches in this process.
//
// A dispatch is a fresh agent with its own history. It begins with agent_started,
// which the facilitator's dispatch tool decides, and ends with agent_finished,
// which answers that tool's call:
//
//	spec, err := specialists.Spec(tm, tm.Specialists[0], route)
//	dispatcher := specialists.NewDispatcher(specialists.Config{Journal: journal, …})
//	err = dispatcher.Dispatch(ctx, "d1")
package specialists
