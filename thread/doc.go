// Package thread folds the log of one thread into state: its runs, their agents
// and dispatches, each agent's message history, usage and cost. Together with
// board and document, which it holds, it is everything that a run's next
// decision depends on.
//
// It reads no clock and does no I/O. The runner's sequencer owns a [Thread],
// lets decisions add facts to it through a [Tx], and commits those to the log.
package thread
