// Package nearest finds the word that a person most likely meant.
//
//	nearest.Of("facilitatr", []string{"facilitator", "specialists"}) // facilitator
package nearest

import "strings"

// Of gives the candidate that a person most likely meant, "" if none is
// close: at most a third of the letters differ, a swap counting once.
func Of(word string, candidates []string) string {
	if len(word) > 64 {
		return "" // no key is that long; the comparison is quadratic
	}
	best, bestDistance := "", 0
	for _, candidate := range candidates {
		d := distance(strings.ToLower(word), candidate)
		if d*3 <= max(len(word), len(candidate)) && (best == "" || d < bestDistance) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Slip gives the candidate from which the word differs by one letter, or by two that changed
// places; "" if there is none.
func Slip(word string, candidates []string) string {
	for _, candidate := range candidates {
		if len(word) <= 64 && distance(strings.ToLower(word), candidate) == 1 {
			return candidate
		}
	}
	return ""
}

// distance counts the letters to insert, drop, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
