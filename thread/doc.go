// Package thread folds the log of one thread into state: its runs, their agents
// and dispatches, each agent's message history, what was spent. Together with
// board and document, which it holds, it is everything that a run's next
// decision depends on.
//
// It reads no clock and does no I/O. The runner's sequencer owns a [Thread],
// lets decisions add facts to it through a [Tx], and commits those to the log.
//
//	th := thread.New()
//	for _, env := range envs {
//		if err := th.Apply(env); err != nil {
//			return err
//		}
//	}
//	run := th.Current()
//	fmt.Println(run.Status, run.Board.Open(""), run.Document.RenderClean())
package thread
