package main

import (
	"runtime/debug"

	"github.com/convene-run/convene/cmd/internal/headroom"
)

const (
	// headroomRows is how many rows at once have so little in use that [headroom] counts.
	headroomRows = 64
	// manyRows is how many rows at once have so much in use that as much again of garbage is
	// too much: the heap may then grow by manyRowsPercent of it.
	manyRows        = 512
	manyRowsPercent = 50
)

// frugal gives the headroom back where a batch has many rows at once, and has the garbage of
// very many collected more often until restore is called. It changes nothing where the user has
// set how memory is to be used.
func (a *app) frugal(rows int) (restore func()) {
	if rows > headroomRows {
		headroom.GiveBack()
	}
	if rows < manyRows || a.memoryIsSet() {
		return func() {}
	}
	before := debug.SetGCPercent(manyRowsPercent)
	return func() { debug.SetGCPercent(before) }
}

func (a *app) memoryIsSet() bool { return a.env("GOGC") != "" || a.env("GOMEMLIMIT") != "" }
