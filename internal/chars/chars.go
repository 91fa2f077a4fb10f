// Package chars measures and cuts text by characters, Unicode code points, so that a
// bound means the same in every script: bytes would give Japanese a third of the room
// that English has.
//
//	head, more := chars.Cut("東京と京都", 2)
//	// "東京", 3
package chars

import "unicode/utf8"

// Count is the number of characters of text.
func Count(text string) int { return utf8.RuneCountInString(text) }

// Over reports whether text has more than max characters.
func Over(text string, max int) bool {
	return len(text) > max && Count(text) > max
}

// Cut parts text behind max characters and counts those that follow.
func Cut(text string, max int) (head string, more int) {
	if len(text) <= max {
		return text, 0
	}
	for at := range text {
		if max <= 0 {
			return text[:at], Count(text[at:])
		}
		max--
	}
	return text, 0
}

// Clip cuts text to max characters, with an ellipsis where more follow.
func Clip(text string, max int) string {
	head, more := Cut(text, max)
	if more > 0 {
		head += "…"
	}
	return head
}
