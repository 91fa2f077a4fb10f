package web_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/toolbox"
	"github.com/convene-run/convene/web"
)

const searching = `name: searching
tools: {web_search: {allow: [fruit.example]}}
specialists:
  - {id: scout, description: Looks things up., prompt: 'Search first: web_search {"query": "apples in season"}', tools: [web_search]}
`

// A search goes from a strict model server into the log, from there into the document as the
// source of an entry, and both out through the API; it is in the cost. The passage is checked
// where the API gives it, and marked as not found where it names the page alone.
func TestSearchFromModelServerToAPI(t *testing.T) {
	for api, checked := range map[events.API]bool{events.APIMessages: true, events.APIResponses: false} {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			models := sim.NewServer(sim.Options{})
			address := httptest.NewServer(models)
			defer address.Close()
			log := events.NewMemory()
			runs := runsOf(t, runner.Config{Log: log, Toolbox: toolbox.New(toolbox.Config{}), Models: endpoint.New(endpoint.Config{
				Env: func(string) string { return "a-key" }, BaseURL: address.URL, API: api,
			})})
			given, err := team.Parse("searching.yaml", []byte(searching))
			require.NoError(t, err)
			run, err := runs.runner.Start(t.Context(), runner.Job{Request: "What is in season?", Team: given, Model: "sim"})
			require.NoError(t, err)
			result, err := run.Wait()
			require.NoError(t, err)
			require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
			require.Zero(t, models.Report().Refused, "%v", models.Report().Faults)

			server := serve(t, web.Config{Log: log})
			_, _, body := server.get(t, "/api/v1/runs/"+string(run.ID())+"/events")
			call := gjson.Get(body, `events.#(data.reply.searches).data`)
			require.Equal(t, `["apples in season"]`, call.Get("reply.searches").Raw)
			const page, quote = "https://fruit.example/apples%20in%20season", `This simulated page about "apples in season" was made up: the web was not searched.`
			require.Equal(t, page, call.Get("reply.cited.0.url").Str)
			require.EqualValues(t, 1, call.Get("usage.web_searches").Int())
			source := gjson.Get(body, `events.#(type=="document_updated").data.sources.0`)
			require.Equal(t, page, source.Get("url").Str, body)
			require.Equal(t, quote, source.Get("quote").Str)
			require.Equal(t, checked, source.Get("found").Bool())
			require.Equal(t, !checked, gjson.Get(body, `events.#(type=="evidence_refused")`).Exists())

			_, _, body = server.get(t, "/api/v1/runs/"+string(run.ID()))
			require.EqualValues(t, 1, gjson.Get(body, "usage.web_searches").Int(), body)
			require.Greater(t, gjson.Get(body, "cost_usd").Num, 0.01, "a search alone is a cent")
		})
	}
}
