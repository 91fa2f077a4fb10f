// Package sim is a simulated model: it plays the job of any team offline, from
// nothing but the request it is sent. It knows the small world of package world; of all
// else it says plainly that it knows nothing. Whoever shows its text labels it as
// simulated.
//
// The reply is a pure function of the request and [Options.Seed]. The model
// recognises its part by the tools it is offered (facilitator, specialist, specialist
// who talks with the user, or alone), reads names and enums from their JSON Schemas and its progress from the
// history, so it takes up a job in the middle as well as at the start.
//
//	model := sim.New(sim.Options{FirstToken: 300 * time.Millisecond, PerChunk: 20 * time.Millisecond})
//	for delta, err := range model.Stream(ctx, request) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(delta.Text)
//	}
//
// [NewServer] serves the same model by chat completions, and by the Responses and
// Messages APIs as strictly as their providers do: thinking that is missing, or that
// another account was given, is refused. It injects faults and reports what it
// served:
//
//	faults, err := sim.ParseFaults("503=10%,429-above=8,cut=5%")
//	server := sim.NewServer(sim.Options{Faults: faults})
//	http.ListenAndServe("127.0.0.1:8585", server)
package sim
