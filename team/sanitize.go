package team

import (
	"maps"
	"slices"

	"github.com/convene-run/convene/sanitize"
)

// Finder finds what the team's agents do not pass on to each other. The error is that of a
// pattern that [Parse] would have refused.
func (t *Team) Finder() (*sanitize.Detector, error) { return sanitize.New(t.Sanitize) }

// checkSanitize checks the patterns.
func (t *Team) checkSanitize(found *problems) {
	if n := len(t.Sanitize); n > sanitize.MaxPatterns {
		found.add("sanitize", "there are %d patterns, at most %d are allowed", n, sanitize.MaxPatterns)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Sanitize)) {
		if err := sanitize.Check(name, t.Sanitize[name]); err != nil {
			found.add("sanitize."+name, "%s", err)
		}
	}
}
