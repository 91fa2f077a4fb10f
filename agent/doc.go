// Package agent is the part of agents that a program sees: the tools that it gives them,
// and what they are doing at the moment.
//
// [Func] makes a tool of a Go function, to be offered with runner.Config.Tools. A call
// starts as soon as its own arguments have arrived in full. [Live] is what
// runner.Run.Live lists.
package agent
