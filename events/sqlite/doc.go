// Package sqlite keeps events in one SQLite file: the default, durable
// [events.Log].
//
// Appends of all runs that wait share one transaction with synchronous=FULL, which
// also updates the summaries that listings read. Readers have connections of their
// own and read short pages.
//
// Several processes may use one file. Each keeps a file of its own locked in
// "<file>-owners" while it lives; the kernel frees that lock when it dies, so the
// threads of a killed process can be claimed at once. A removed folder of owners gives
// no live thread away: see settleClaims. Commits of others are noticed within 20 ms.
//
// It is not for network filesystems, whose locks cannot be relied on: [Open]
// refuses them.
package sqlite
