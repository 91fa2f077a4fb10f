package events

import "slices"

// rule says who may add events of a kind to a run, and when, where that is not only the
// driver of a run under way.
type rule struct {
	// posted: anyone may add it, at any moment and without a claim, unless it is
	// synthetic: those are the engine's.
	posted bool
	// closing: a cancelled run still takes it, because it closes what is open, tells of a
	// call that was paid for, or of how the run is driven.
	closing bool
}

// rules is the one place that says so, for logs, the fold and the page. Every other kind
// is for the driver of a run that was not cancelled.
var rules = map[Kind]rule{
	KindCancelRequested:      {posted: true, closing: true},
	KindUserMessage:          {posted: true},
	KindHandoffExitRequested: {posted: true},
	KindPermissionDenied:     {posted: true},
	KindAudited:              {posted: true},
	KindAgentFinished:        {closing: true},
	KindModelCalled:          {closing: true},
	KindModelCallFailed:      {closing: true},
	KindRunSuspended:         {closing: true},
	KindRunResumed:           {closing: true},
	KindWarning:              {closing: true},
	KindError:                {closing: true},
	KindWorkflowFinished:     {closing: true},
}

// Posted reports whether the event is one that others than the driver of a run may add
// without a claim ([Log.Post]). No state of a thread makes such an event wrong: one that
// comes too late changes nothing.
func Posted(event Event) bool {
	switch e := event.(type) { // as the rules say: folds ask several times for each event
	case UserMessage:
		return !e.Synthetic
	case CancelRequested, HandoffExitRequested, PermissionDenied, Audited:
		return true
	}
	return false
}

// PostedKinds are the kinds of events that may be [Posted], sorted.
func PostedKinds() (kinds []Kind) {
	for kind, rule := range rules {
		if rule.posted {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Closing reports whether a run takes events of the kind after run_cancelled.
func Closing(kind Kind) bool { return rules[kind].closing }
