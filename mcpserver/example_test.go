package mcpserver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/mcpserver"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/steer"
)

// A program that offers a team to the program that started it: os.Stdin and os.Stdout would
// stand where the pipes do.
func Example() {
	store := events.NewMemory()
	r, err := runner.New(runner.Config{Log: store, Models: endpoint.New(endpoint.Config{Default: "sim"})})
	if err != nil {
		log.Fatal(err)
	}
	server, err := mcpserver.New(mcpserver.Config{
		Log: store, Kept: r.Kept(), Runs: steer.New(steer.Config{Runner: r}),
		Teams: []mcpserver.Team{{Name: "trip", Description: "Plans trips."}},
	})
	if err != nil {
		log.Fatal(err)
	}
	in, out, client := connect()
	ended := make(chan error)
	go func() { ended <- server.ServeStdio(context.Background(), in, out) }()

	session := client()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{
		Name: "run_team", Arguments: map[string]any{"request": "Plan three days in Kyoto for two"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.StructuredContent.(map[string]any)["status"])
	fmt.Println(session.Close(), <-ended)
	fmt.Println(r.Shutdown(context.Background())) // parks the runs that are under way
	// Output:
	// completed
	// <nil> <nil>
	// <nil>
}
