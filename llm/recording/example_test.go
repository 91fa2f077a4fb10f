package recording_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/recording"
)

// A reply is recorded, and replayed without the model.
func Example() {
	ask := func(client llm.Client) (text string) {
		request := llm.Request{Model: "sim", Messages: []events.Message{{Role: events.RoleUser, Content: "Plan a day in Kyoto"}}}
		for delta, err := range client.Stream(context.Background(), request) {
			if err != nil {
				log.Fatal(err)
			}
			text += delta.Text
		}
		return text
	}
	var file bytes.Buffer
	recorded := ask(recording.Record(sim.New(sim.Options{}), &file))
	player, err := recording.Replay(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ask(player) == recorded)
	// Output: true
}
