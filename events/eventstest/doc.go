// Package eventstest holds what tests of logs, and tests with logs, need: one
// conformance suite that every [events.Log] must pass, sample events of every
// kind, and a log that fails where it is told to.
//
//	func TestLog(t *testing.T) {
//		eventstest.Run(t, func(t *testing.T) events.Log { return events.NewMemory() })
//	}
//
// It is imported by tests alone.
package eventstest
