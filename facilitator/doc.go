// Package facilitator is the facilitator agent: its prompt, its tools on the
// board and the document, one dispatch tool per specialist, and how a run ends.
//
// It starts no specialist itself. Its dispatch tools decide agent_started; the
// loop then has its [agent.Dispatcher] drive the specialist:
//
//	tools := facilitator.Tools(tm)
//	system, err := facilitator.System(tm)
//	role := facilitator.NewRole(tm, message)
package facilitator
