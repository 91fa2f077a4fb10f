// Package endpoint turns what people set into a route of models: a name such as
// "anthropic/claude-sonnet-4-5", the keys in their environment, a base URL. Equal
// base URL and key give the same [llm.Endpoint], so that all runs of a process
// share its limiter and its connections. Nothing is asked over the network, but
// for the list of models where none is named.
//
//	models := endpoint.New(endpoint.Config{Default: "openai/gpt-5-mini"})
//	route, err := models.Resolve("groq/llama-3.3-70b-versatile,ollama/qwen3")
//	var missing *endpoint.NotConfiguredError
//	if errors.As(err, &missing) {
//		fmt.Fprintln(os.Stderr, err) // says what is missing and how to set it
//		os.Exit(2)
//	}
//	for delta, err := range caller.Stream(ctx, route, request) { … }
package endpoint
