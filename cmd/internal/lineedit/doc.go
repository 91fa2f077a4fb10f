// Package lineedit is the line in which a person types: text with a cursor, its history,
// and the keys that shells have taught everybody. It neither reads a terminal nor draws
// on one:
//
//	editor := lineedit.New(history)
//	switch editor.Key(key) {
//	case lineedit.Submit:
//		text := editor.Take()
//	}
//	lines, row, column := editor.Lines("› ", width)
package lineedit
