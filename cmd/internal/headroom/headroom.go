// Package headroom keeps a block of memory in use from before the program's other packages
// begin, so that a process that has little in use collects its garbage rarely: by Go's own
// rule the heap is looked through at 4 MB, which what is linked takes before main begins, and
// again whenever it has doubled.
//
// Nobody touches the block, so it takes no memory, but the heap may grow by it before it is
// collected. Unlike a higher GOGC it adds the same whatever is in use.
package headroom

import (
	"os"
	"runtime"
	"sync"
)

// Bytes is the size of the block. Sixteen rows of a batch have some 6 MB in use: without it
// they are looked through every seven runs, for a tenth of all CPU.
const Bytes = 32 << 20

var held = struct {
	mu    sync.Mutex // guards block
	block []byte
}{block: reserve(os.Getenv)}

// reserve gives the block, nil where the user has set how memory is to be used.
func reserve(env func(string) string) []byte {
	if env("GOGC") != "" || env("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, Bytes)
}

// GiveBack lets the heap be collected by Go's own rule from now on, for a process that is to
// live long, or that will have much in use. Twice is fine. It is safe for concurrent use.
func GiveBack() {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.block != nil {
		held.block = nil
		runtime.GC() // until then the rule goes by what was in use before
	}
}
