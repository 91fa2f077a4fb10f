// Package messages speaks Anthropic's Messages API, natively: with its prompt cache,
// and with the model's thinking kept between calls. It makes one attempt per call.
//
//	client := messages.New(messages.Config{Config: wire.Config{
//		Provider: "anthropic",
//		BaseURL:  "https://api.anthropic.com/v1",
//		APIKey:   os.Getenv("ANTHROPIC_API_KEY"),
//	}})
//	for delta, err := range client.Stream(ctx, request) {
//		if err != nil {
//			return err // an *llm.Error where the endpoint is at fault
//		}
//		fmt.Print(delta.Text)
//	}
//
// https://platform.claude.com/docs/en/api/messages
package messages
