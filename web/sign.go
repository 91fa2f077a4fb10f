package web

import "iter"

// each gives the bodies as form makes them.
func each(bodies iter.Seq2[[]byte, error], form func([]byte) []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for body, err := range bodies {
			if err == nil {
				body = form(body)
			}
			if !yield(body, err) {
				return
			}
		}
	}
}
