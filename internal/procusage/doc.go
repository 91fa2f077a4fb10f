// Package procusage tells what processes have used, for tests and measurements: processor time,
// which says more than a clock on a busy machine, and memory.
package procusage
