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
	"runtime/debug"
	"sync"
)

// Bytes is the size of the block. Sixteen rows of a batch have some 6 MB in use: without it
// they are looked through every seven runs, for a tenth of all CPU.
const Bytes = 32 << 20

// percent is Go's own rule: the heap is looked through at 4 MB, then whenever it has doubled.
// By that, making the block would be reason enough, before anything else is there to look
// through. firstPercent multiplies the 4 MB, so that the first time comes where the second
// would: when the heap is twice as large as the block. From then on percent holds.
const (
	percent      = 100
	firstPercent = 2 * Bytes / (4 << 20) * percent
)

var held = struct {
	mu    sync.Mutex // guards block
	block []byte
}{}

func init() { reserve(os.Getenv) }

// reserve makes the block, unless the user has set how memory is to be used.
func reserve(env func(string) string) {
	if env("GOGC") != "" || env("GOMEMLIMIT") != "" {
		return
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	debug.SetGCPercent(firstPercent)
	runtime.AddCleanup(new([64]byte), restore, struct{}{})
	held.block = make([]byte, Bytes)
}

// restore is called once the heap has been looked through for the first time.
func restore(struct{}) {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.block != nil { // who gave it back may have set another rule since
		debug.SetGCPercent(percent)
	}
}

// GiveBack lets the heap be collected by Go's own rule from now on, for a process that is to
// live long, or that will have much in use. Twice is fine. It is safe for concurrent use.
func GiveBack() {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.block != nil {
		held.block = nil
		debug.SetGCPercent(percent)
		runtime.GC() // until then the rule goes by what was in use before
	}
}
