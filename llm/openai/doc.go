// Package openai speaks to every endpoint that offers the chat completions format
// of OpenAI. It takes the ordinary types of sashabaranov/go-openai and is its only
// importer; the request body is its own and the stream reader that of llm/wire,
// because the library can carry neither a call's extra fields nor temperature 0, and
// hides broken streams. It makes one attempt per call: retries, limits and prices are
// the matter of [llm.Caller].
//
//	client := openai.New(openai.Config{Config: wire.Config{
//		Provider: "openai",
//		BaseURL:  "https://api.openai.com/v1",
//		APIKey:   os.Getenv("OPENAI_API_KEY"),
//	}})
//	for delta, err := range client.Stream(ctx, request) {
//		if err != nil {
//			return err // an *llm.Error where the endpoint is at fault
//		}
//		fmt.Print(delta.Text)
//	}
package openai
