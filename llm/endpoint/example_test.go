package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// From a model's name to a reply. Each model after the first is a fallback.
func ExampleResolver_Resolve() {
	keys := map[string]string{"GROQ_API_KEY": "gsk-example"}
	models := endpoint.New(endpoint.Config{Env: func(name string) string { return keys[name] }})
	route, err := models.Resolve("groq/llama-3.3-70b-versatile,ollama/qwen3")
	if err != nil {
		log.Fatal(err)
	}
	for _, target := range route {
		fmt.Println(target.Endpoint.Name, target.Model)
	}
	_, err = models.Resolve("anthropic/claude-sonnet-4-5")
	var missing *endpoint.NotConfiguredError
	fmt.Println(errors.As(err, &missing)) // its text says what is missing and how to set it
	// Output:
	// groq llama-3.3-70b-versatile
	// ollama qwen3
	// true
}

// Streaming a reply of the simulated model, with the retries and fallbacks of [llm.Caller].
func Example() {
	route, err := endpoint.New(endpoint.Config{}).Resolve("sim")
	if err != nil {
		log.Fatal(err)
	}
	var caller llm.Caller
	request := llm.Request{Messages: []events.Message{{Role: events.RoleUser, Content: "Plan a day in Kyoto"}}}
	for delta, err := range caller.Stream(context.Background(), route, request) {
		if err != nil {
			log.Fatal(err)
		}
		if delta.Done != nil {
			fmt.Println(delta.Done.Reply.Text != "")
		}
	}
	// Output: true
}
