// Package sqlite keeps events in one SQLite file: the default, durable
// [events.Log].
//
//	log, err := sqlite.Open(ctx, "./.convene/convene.db")
//	if err != nil {
//		return err // says what is wrong with the file and what to do
//	}
//	defer log.Close()
//	epoch, err := log.Claim(ctx, key, "laptop pid 4711", false)
//	err = log.Append(ctx, key, epoch, 0, envs) // durable when it returns
//
// One goroutine writes: it commits what all runs have waiting in one transaction
// with synchronous=FULL, and in the same transaction the summaries of runs that
// listings read. Readers have connections of their own and read short pages.
//
// Several processes may use one file. Each keeps a file of its own locked in
// "<file>-owners" while it lives; the kernel frees that lock when it dies, so the
// threads of a killed process can be claimed at once. Commits of others are
// noticed within 20 ms.
//
// It is not for network filesystems, whose locks cannot be relied on: [Open]
// refuses them.
package sqlite
