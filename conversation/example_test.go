package conversation_test

import (
	"fmt"
	"log"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
)

// A pipeline of two stages sends a first message to the agent of its first stage.
func ExampleNewPipeline() {
	pipeline, err := conversation.NewPipeline(
		conversation.Stage{Phase: "triage", Agent: "triage", Next: "handling"},
		conversation.Stage{Phase: "handling", Agent: "handler", CanReturnTo: []events.Phase{"triage"}},
	)
	if err != nil {
		log.Fatal(err)
	}
	router := conversation.NewRouter(conversation.Routing{
		Agents: []events.AgentID{"triage", "handler"}, Rules: pipeline.Rules(), Initial: "triage",
	})
	routed, ok := router.Route(&conversation.State{}, conversation.Message{ID: "m1", Text: "I was charged twice"})
	fmt.Println(ok, routed.Agent, routed.Tier)
	fmt.Println(pipeline.AllowedTransitions()["handling"])
	// Output:
	// true triage rule
	// [triage]
}

// Sentences that are not set are the standard ones.
func ExampleMessages_WithDefaults() {
	messages := conversation.Messages{Completed: "You are back."}.WithDefaults()
	fmt.Println(conversation.Say(messages.Connecting, "Billing"))
	fmt.Println(messages.Completed)
	// Output:
	// Connecting you with Billing...
	// You are back.
}
