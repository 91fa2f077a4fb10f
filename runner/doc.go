// Package runner is the life cycle of a run: start, stop, resume, cancel, and the limits
// that it enforces. It executes what the packages below decide, and it is what other
// programs embed.
//
//	r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{})})
//	run, err := r.Start(ctx, runner.Job{Request: "Plan three days in Kyoto for two", Team: trip})
//	for env, err := range run.Events(ctx) {
//		fmt.Println(env.Seq, env.Data.Kind(), err)
//	}
//	result, err := run.Wait()
//	err = r.Shutdown(ctx) // before the log is closed
//
// One sequencer per run makes decisions, numbers and applies their facts, and commits them
// to the log before anybody acts on them. A run that was stopped or killed is resumed from
// its log alone: [Run.Stop] and [Runner.Shutdown] park runs and wait, also for calls in
// flight for as long as their context lasts, and [Runner.Resume] continues a run.
package runner
