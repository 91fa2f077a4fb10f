package main

import "runtime/debug"

const (
	// headroomBytes is what a batch of few rows at once lets its heap grow by, beside as much
	// again as is in use, before the garbage is collected. Sixteen rows have some 6 MB in
	// use: by Go's own rule they are looked through every seven runs, for a tenth of all CPU.
	headroomBytes = 32 << 20
	// headroomRows is how many rows at once have so little in use that it counts.
	headroomRows = 64
	// manyRows is how many rows at once have so much in use that as much again of garbage is
	// too much: the heap may then grow by manyRowsPercent of it.
	manyRows        = 512
	manyRowsPercent = 50
)

// headroom is a block that is to stay referenced for as long as a batch runs. It is never
// touched, and so takes no memory, but counts as in use: the heap may grow by it. Unlike a
// higher GOGC it adds the same whatever the rows need. It is empty where there are many
// rows, and where the user has set how memory is to be used (GOGC, GOMEMLIMIT).
func (a *app) headroom(rows int) []byte {
	if rows > headroomRows || a.memoryIsSet() {
		return nil
	}
	return make([]byte, headroomBytes)
}

// frugal has the garbage of a batch of many rows at once collected more often, until restore
// is called. It changes nothing where there are fewer, or where the user has set how memory
// is to be used.
func (a *app) frugal(rows int) (restore func()) {
	if rows < manyRows || a.memoryIsSet() {
		return func() {}
	}
	before := debug.SetGCPercent(manyRowsPercent)
	return func() { debug.SetGCPercent(before) }
}

func (a *app) memoryIsSet() bool { return a.env("GOGC") != "" || a.env("GOMEMLIMIT") != "" }
