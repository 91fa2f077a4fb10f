// Package runner is the life of a run: start, resume, cancel, and the bounds that
// it keeps. It executes what the packages below decide, and it is what other
// programs embed.
//
//	r, err := runner.New(runner.Config{Log: log, Models: endpoint.New(endpoint.Config{})})
//	run, err := r.Start(ctx, runner.Job{Request: "Plan three days in Kyoto for two", Team: trip})
//	for env, err := range run.Events(ctx) {
//		fmt.Println(env.Seq, env.Data.Kind(), err)
//	}
//	result, err := run.Wait()
//
// One sequencer per run decides, numbers and applies facts and commits them to the
// log before anybody acts on them. A run that was stopped or killed is resumed
// from its log alone.
package runner
