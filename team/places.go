package team

import (
	"cmp"
	"slices"
	"strings"
)

// place is a position in a file, from 1; the zero value is "unknown".
type place struct{ line, column int }

// places maps a path such as "specialists[1].prompt" to where the file says it.
type places map[string]place

// find gives the place of a path, or of the nearest thing around it that the
// file says.
func (p places) find(path string) place {
	for {
		if where, ok := p[path]; ok || path == "" {
			return where
		}
		path = parent(path)
	}
}

// parent cuts the last step off a path.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Locate says where the team's file holds what path names, such as
// "specialists[1].prompt", or the nearest thing around it. Line and column
// count from 1; both are 0 for a team that was not read from a file.
func (t *Team) Locate(path string) (line, column int) {
	where := t.places.find(path)
	return where.line, where.column
}

func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
