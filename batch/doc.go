// Package batch runs many requests through a team: bounded, resumable, one output
// for every row. It is not a scheduler: a batch is one process at a time.
//
// An embedding program hands rows over and takes outputs as they come:
//
//	b, err := batch.New(batch.Config{Runner: r, Team: trip, Concurrency: 64})
//	report, err := b.Run(ctx, rows, batch.SinkFunc(func(out batch.Output) error {
//		fmt.Println(out.ID, out.Status, out.Answer)
//		return nil
//	}))
//
// [Open] adds files: JSONL, CSV or plain lines in, JSONL out, and a manifest beside
// the output. The same command again then goes on where the last one stopped.
//
// The id of a row's run is a function of the batch and the row. So the log of the
// runs tells, after a crash, which rows were started and how far they came; what
// the output file lacks is taken from there, and no finished model call is made
// again. Nothing about single rows is kept in memory.
//
// How the batch as a whole goes stands in a thread of its own, whose id is the
// batch's, so that others can watch it: see [events.Log.FindBatch].
package batch
