// Package responses speaks OpenAI's Responses API, which its reasoning models need
// for tools, and which xAI, OpenRouter, Azure and local servers offer too. It is
// stateless: nothing is stored at the provider, and what the model thought goes back
// encrypted with the next request. It makes one attempt per call.
//
//	client := responses.New(responses.Config{Config: wire.Config{
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
//
// https://platform.openai.com/docs/api-reference/responses
package responses
