// Package loop drives one agent: a turn with the model, the tools that it calls,
// and the loop around them. The facilitator and the specialists are both agents;
// they differ in their [Role] and their tools. Packages runner, facilitator and
// specialists are built on it.
//
// A [Loop] holds no state. It asks the fold of the log what comes next, so a resumed
// run takes the same path as one that was never stopped.
//
// Replies are always streamed. A tool call with effects outside the decision (a
// dispatch, an external tool) starts as soon as its own arguments have arrived in
// full; results are returned in the order of the calls.
package loop
