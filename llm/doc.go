// Package llm is the model layer: requests and deltas in our own types, the
// [Client] that streams one reply, and around it, for a whole process, the
// limiter, the retries, the fallbacks and the price of each call ([Caller]).
//
// No type of a vendor appears here; adapters live in subpackages (llm/openai for
// every OpenAI-compatible endpoint, internal/sim for the simulated model).
//
//	for delta, err := range client.Stream(ctx, llm.Request{Model: "gpt-x", Messages: messages}) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(delta.Text)
//	}
package llm
