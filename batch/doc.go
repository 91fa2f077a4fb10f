// Package batch runs many requests through a team: bounded, resumable, one output
// per row. It is not a scheduler: a batch is driven by one process at a time.
//
// An embedding program passes rows in and receives outputs as they are finished:
//
//	b, err := batch.New(batch.Config{Runner: r, Team: trip, Concurrency: 64})
//	report, err := b.Run(ctx, rows, batch.SinkFunc(func(out batch.Output) error {
//		fmt.Println(out.ID, out.Status, out.Answer)
//		return nil
//	}))
//
// [Open] adds files: JSONL, CSV or plain lines in, JSONL out, and a manifest next to
// the output. The same command again then continues where the last one stopped.
//
// The id of a row's run is a function of the batch and the row. So after a crash the
// log of the runs tells which rows were started and how far they got; what the output
// file lacks is taken from there, and no finished model call is repeated. Nothing about
// individual rows is kept in memory.
//
// The progress of the batch as a whole is in a thread of its own, whose id is the
// batch's, so that others can watch it: see [events.Index.FindBatch].
package batch
