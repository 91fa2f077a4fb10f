package web

import (
	"iter"

	"github.com/convene-run/convene/events"
)

// eachForViewers gives the bodies as viewers get them.
func eachForViewers(bodies iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for body, err := range bodies {
			if err == nil {
				body = events.ForViewers(body)
			}
			if !yield(body, err) {
				return
			}
		}
	}
}
