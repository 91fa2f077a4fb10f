// Package bench measures what a run costs in addition to its model calls: CPU and memory
// of whole runs against a server in another process, in ratio to a bare tool loop
// on go-openai that keeps no events and no log. `make bench-run` runs it; package
// whole measures whole processes.
package bench
