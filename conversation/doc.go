// Package conversation says who speaks with the user: the facilitator, or a specialist that
// the conversation was handed over to. It is a fold over the handoffs of a thread and the
// decisions on it; it is not the history of what an agent and its model said to each
// other, which package thread has.
//
// Decisions look at a [State] and give the facts that follow; only facts that were applied
// change it:
//
//	var state conversation.State
//	for _, fact := range conversation.Request(&state, policy, handoff) {
//		// append the fact to the log, then
//		err := state.Apply(envelope)
//	}
//	if session := state.Active(); session != nil {
//		// session.Request.Target answers the user's next message
//	}
package conversation
