// Package agent drives one agent: a turn with the model, the tools that it calls,
// and the loop around them. The facilitator and the specialists are both agents;
// what sets them apart is a [Role] and their tools.
//
// The loop holds no state. It asks the log's fold what comes next, so that a run
// that is resumed goes the same way as one that was never stopped:
//
//	loop := &agent.Loop{Spec: spec, Role: role, Journal: journal, Caller: caller, Governor: governor}
//	err := loop.Run(ctx) // until the role says that the agent is over
//
// There is one path, streaming. A tool call that reaches outside the decision (a
// dispatch, an external tool) starts as soon as its own arguments have streamed in
// whole; results return in call order.
package agent
