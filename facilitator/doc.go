// Package facilitator is the facilitator agent: its prompt, its tools on the
// board and the document, one dispatch tool per specialist, and how a run ends.
//
// It starts no specialist itself. Its dispatch tools decide agent_started; the
// loop then has its [loop.Dispatcher] drive the specialist.
package facilitator
