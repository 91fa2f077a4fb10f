package termview

import (
	"github.com/convene-run/convene/team"
)

// Bounds lists every bound of a run: its value, its default, what it bounds and
// why the default is what it is.
func Bounds(limits team.Limits, theme Theme, width int) []string {
	rows := [][]string{{"BOUND", "VALUE", "DEFAULT", "WHAT AND WHY"}}
	for _, b := range team.Bounds() {
		rows = append(rows, []string{
			string(b.Name), b.Format(limits.Value(b.Name)), b.Format(b.Default), b.Description + " – " + b.Reason,
		})
	}
	lines := columns(rows, width)
	lines[0] = theme.quiet(lines[0])
	return lines
}
