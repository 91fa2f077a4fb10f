package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
)

// A quote from a page that the provider found is held against what the provider said it
// cites; where it said nothing of the page, nothing passes for checked.
func TestSourceOfAWebSearch(t *testing.T) {
	searched := func(quote string) llmtest.Step {
		return llmtest.Calls("", fetch(about)).Citing(events.CitedPage{URL: "https://found.example/", Title: "Found", Quote: quote})
	}
	write := cite("Ruby is at 4.0.6.", args{"url": "https://found.example", "quote": "stable version is 4.0.6"})
	p, _ := cited(t, "", searched("The current stable version is 4.0.6."), llmtest.Calls("", write))
	source := p.entries()[0].Sources[0]
	require.True(t, source.Found)
	require.Equal(t, events.Source{URL: "https://found.example/", Title: "Found"}, source.Source)
	require.Nil(t, source.Call)

	p, _ = cited(t, "", searched("The current stable version is 4.0.5."), llmtest.Calls("", write), llmtest.Calls("", write))
	require.False(t, p.entries()[0].Sources[0].Found)
	require.Contains(t, p.results("write_section")[0], "nearest passage there")

	p, _ = cited(t, "", searched(""), llmtest.Calls("", write), llmtest.Calls("", write))
	require.False(t, p.entries()[0].Sources[0].Found)
	require.Contains(t, p.results("write_section")[0], "cannot be checked")
}
