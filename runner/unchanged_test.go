package runner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/team"
)

var (
	readAll   = llmtest.Call("read_document", args{})
	readClean = llmtest.Call("read_document_clean", args{})
)

// A facilitator that has read the whole document as it stands is told so, and is not sent
// it again as the user gets it.
func TestDocumentIsNotShownTwice(t *testing.T) {
	p, _ := twoEntries(t, pair(), "One.", "Two.", llmtest.Calls("", readAll, readClean), llmtest.Calls("", readClean),
		llmtest.Calls("", merge("a", "{{entry:1}} {{entry:2}}"), readClean), llmtest.Says("Done"))
	p.completed(t)
	results := p.results("read_document_clean")
	require.Contains(t, results[0], "Nothing has changed", "read in the same turn")
	require.Contains(t, results[1], "Nothing has changed", "read in an earlier one")
	require.Equal(t, "## A\n\nOne. Two.\n", results[2], "merged since")
}

// It is sent the document where a part of it is not before it.
func TestDocumentIsShownToWhoHasNotReadIt(t *testing.T) {
	short := pair(func(l *team.Limits) { l.MaxReadChars = 500 })
	tooLong := llmtest.Fails(&llm.Error{Kind: llm.ErrContextLength, Message: "too long"})
	for name, c := range map[string]struct {
		team  *team.Team
		turns []llmtest.Step
	}{
		"before it reads":     {pair(), []llmtest.Step{llmtest.Calls("", readClean, readAll)}},
		"it read a part":      {short, []llmtest.Step{llmtest.Calls("", readAll), llmtest.Calls("", readClean)}},
		"a summary is left":   {pair(), []llmtest.Step{llmtest.Calls("", readAll), tooLong, llmtest.Says("I read it"), llmtest.Calls("", readClean)}},
		"nothing was in it":   {pair(), []llmtest.Step{llmtest.Calls("", llmtest.Call("read_document", args{"section": "b"})), llmtest.Calls("", readClean)}},
		"the reading clipped": {pair(func(l *team.Limits) { l.MaxToolResultChars = 1024 }), []llmtest.Step{llmtest.Calls("", readAll), llmtest.Calls("", readClean)}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := twoEntries(t, c.team, strings.Repeat("One. ", 100), strings.Repeat("Two. ", 120), append(c.turns, llmtest.Says("Done"))...)
			require.Contains(t, p.results("read_document_clean")[0], "## A\n\nOne. One.")
		})
	}
}
