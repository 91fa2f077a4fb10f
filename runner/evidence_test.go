package runner_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const about = "https://acme.example/about"

// pages is a tool that returns a page; what it returns for other addresses fails.
func pages() agent.Tool {
	return agent.Func(llm.Tool{Name: "fetch_url", Description: "Reads a page."}, events.EffectPure,
		func(_ context.Context, _ agent.Invocation, in struct {
			URL string `json:"url"`
		}) (agent.Result, error) {
			if in.URL != about {
				return agent.Result{Text: "404: Acme was founded in 1901.", Failed: true}, nil
			}
			return agent.Result{
				Text: "Acme was founded in 1998 in Kyoto.\nIt has 532 employees.", Sources: []events.Source{{URL: about, Title: "About Acme"}},
			}, nil
		})
}

func fetch(url string) events.ToolCall { return llmtest.Call("fetch_url", args{"url": url}) }

func cite(content string, sources ...args) events.ToolCall {
	return llmtest.Call("write_section", args{"section": "facts", "content": content, "sources": sources})
}

// entries are what was written, in order.
func (p played) entries() (entries []events.DocumentUpdated) {
	for _, env := range p.of(events.KindDocumentUpdated) {
		entries = append(entries, env.Data.(events.DocumentUpdated))
	}
	return entries
}

func (p played) refused() (refused []events.EvidenceRefused) {
	for _, env := range p.of(events.KindEvidenceRefused) {
		refused = append(refused, env.Data.(events.EvidenceRefused))
	}
	return refused
}

// cited plays a run of alpha, who has fetch_url, and beta, who has no tools.
func cited(t *testing.T, evidence team.Evidence, steps ...llmtest.Step) (played, *llmtest.Scripted) {
	t.Helper()
	tm := pair()
	tm.Evidence = evidence
	tm.Specialists[1].Tools = []string{}
	client := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Calls("", dispatch("beta", 2)),
			llmtest.Calls("", llmtest.Call("read_document", args{})), llmtest.Says("Done")),
		llmtest.Agent(alpha, append(steps, llmtest.Calls("", complete(1)), llmtest.Says("Written"))...),
		llmtest.Agent(beta, llmtest.Calls("", write("opinion", "B"), complete(2)), llmtest.Says("Written")))
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{pages()}}, tm)
	p.completed(t)
	return p, client
}

// What stands in the result of the specialist's own call is recorded with the entry.
func TestSourceThatIsFound(t *testing.T) {
	p, client := cited(t, "", llmtest.Calls("", fetch(about)),
		llmtest.Calls("", cite("It is from 1998.", args{"url": about, "quote": "FOUNDED in\n1998"})))
	entry := p.entries()[0]
	require.Len(t, entry.Sources, 1)
	cited := entry.Sources[0]
	require.True(t, cited.Found)
	require.Equal(t, events.Source{URL: about, Title: "About Acme"}, cited.Source)
	require.Equal(t, "FOUNDED in\n1998", cited.Quote)
	require.Equal(t, &events.CallPlace{ModelCall: "d1.1"}, cited.Call)
	require.Len(t, cited.SHA256, 64)
	require.False(t, entry.Unsupported)
	require.Empty(t, p.refused())

	schema := func(agent string) string {
		for _, tool := range client.Requests(agent)[0].Tools {
			if tool.Name == "write_section" {
				return tool.Description + string(tool.Parameters)
			}
		}
		return ""
	}
	require.Contains(t, schema(alpha), `"sources"`)
	require.NotContains(t, schema(beta), "sources", "who has no tools has nothing to quote")
}

// What is not found is refused once, with what is there instead, and then recorded as it is.
func TestSourceThatIsNotFound(t *testing.T) {
	const other = "https://acme.example/other"
	for name, c := range map[string]struct {
		source args
		says   string
	}{
		"shifted":        {args{"url": about, "quote": "founded in 1989 in Kyoto"}, "nearest passage there is “founded in 1998 in Kyoto.”"},
		"never fetched":  {args{"url": "https://acme.example/never", "quote": "founded in 1998"}, "nothing was returned to you from this source"},
		"of a failure":   {args{"url": other, "quote": "founded in 1901"}, "nothing was returned to you from this source"},
		"another tool":   {args{"tool": "read_document", "quote": "founded in 1998"}, "nothing was returned to you from this source"},
		"no clear place": {args{"quote": "founded in 1998"}, "give one of url, file, artifact and tool"},
	} {
		t.Run(name, func(t *testing.T) {
			write := cite("It is from 1998.", c.source)
			p, _ := cited(t, "", llmtest.Calls("", fetch(about), fetch(other)), llmtest.Calls("", write, write), llmtest.Calls("", write))
			results := p.results("write_section")
			for _, result := range results[:2] { // the second of the turn, too: the model has read nothing yet
				require.Contains(t, result, c.says)
			}
			require.Contains(t, results[2], "Entry 1")
			require.Len(t, p.refused(), 2)
			require.Equal(t, events.EvidenceNotFound, p.refused()[0].Reason)
			require.Equal(t, p.refused()[0].Sources, p.entries()[0].Sources)
			require.False(t, p.entries()[0].Sources[0].Found)
			require.Nil(t, p.entries()[0].Sources[0].Call)
		})
	}
}

// A specialist quotes from what was returned to it in this dispatch: not from what another
// one was given, nor from what it read in an earlier dispatch.
func TestResultOfAnotherDispatchIsNoSource(t *testing.T) {
	source := args{"url": about, "quote": "founded in 1998"}
	client := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha", "beta")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Calls("", dispatch("beta", 2)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", fetch(about)), llmtest.Calls("", cite("A", source), complete(1)), llmtest.Says("Written")),
		llmtest.Agent(beta, llmtest.Calls("", cite("B", source)), llmtest.Calls("", cite("B", source), complete(2)), llmtest.Says("Written")))
	p := playWith(t, runner.Config{Log: events.NewMemory(), Models: oneClient{client}, Tools: []agent.Tool{pages()}}, pair())
	p.completed(t)
	require.True(t, p.entries()[0].Sources[0].Found)
	require.False(t, p.entries()[1].Sources[0].Found)
	require.Contains(t, strings.Join(p.results("write_section"), "\n"), "You have no results of tools yet")
}

// Where evidence is required, an entry without any is refused once if its author could have
// some, and marked; the facilitator reads the marks.
func TestEvidenceThatIsRequired(t *testing.T) {
	good := cite("It is from 1998.", args{"url": about, "quote": "founded in 1998"})
	p, client := cited(t, team.EvidenceRequired, llmtest.Calls("", fetch(about)),
		llmtest.Calls("", write("facts", "I guess")), llmtest.Calls("", write("facts", "I guess")), llmtest.Calls("", good))
	require.Len(t, p.refused(), 1)
	require.Equal(t, events.EvidenceMissing, p.refused()[0].Reason)
	require.Contains(t, p.results("write_section")[0], "this team requires evidence")
	entries := p.entries()
	require.Len(t, entries, 3)
	require.True(t, entries[0].Unsupported)
	require.False(t, entries[1].Unsupported)
	require.True(t, entries[2].Unsupported, "beta has no tools: nothing to refuse, and nothing found")
	read := p.results("read_document")[0]
	require.Contains(t, read, "[alpha] (entry 1) unsupported\n> I guess")
	require.Contains(t, read, "[alpha] (entry 2)\n")
	require.Contains(t, client.Requests(boss)[0].Messages[0].Content, "write \"unsupported\" beside each statement")
	require.Contains(t, client.Requests(alpha)[0].Messages[0].Content, "This team requires them")
}
