package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
	"github.com/convene-run/convene/llm/wire/wiretest"
)

// Chat completions have no search of the provider: nothing is sent, and it is said.
func TestNoWebSearch(t *testing.T) {
	c := client(t, openai.Config{Config: wire.Config{BaseURL: "http://127.0.0.1:1"}})
	got := wiretest.Collect(t, c, llm.Request{Model: "m", Tools: []llm.Tool{{Name: "web_search", Search: &llm.WebSearch{MaxUses: 1}}}})
	var e *llm.Error
	require.ErrorAs(t, got.Err, &e)
	require.Equal(t, llm.ErrBadRequest, e.Kind)
	require.Contains(t, e.Message, "take web_search from its tools")
}
