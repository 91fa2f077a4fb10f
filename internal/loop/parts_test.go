package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
)

// png begins as an image of its type does.
const png = "\x89PNG\x0D\x0A\x1A\x0A"

// shown gives what the log and the model's next request have of a result.
func shown(t *testing.T, result agent.Result) (events.ToolCallDone, events.Message) {
	t.Helper()
	j := newJournal(t)
	look := agent.Func(llm.Tool{Name: "look"}, events.EffectPure, func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
		return result, nil
	})
	l, script := newLoop(t, j, []agent.Tool{look}, llmtest.Calls("", call("look")), llmtest.Says("Done"))
	require.NoError(t, l.Drive(t.Context()))
	messages := script.Requests("")[1].Messages
	return of[events.ToolCallDone](j)[0], messages[len(messages)-1]
}

// A result in parts is in the log as it was given, with the text that stands for it, and
// the model's next request has both.
func TestResultInParts(t *testing.T) {
	done, message := shown(t, agent.Result{Text: "A map:", Parts: []events.Part{
		{Type: events.PartImage, Bytes: []byte(png)},
		{Type: events.PartArtifact, Name: "stalls\n.csv", MediaType: "text/csv", SHA256: "9f86", SizeBytes: 1500, Bytes: []byte("kept elsewhere")},
	}})
	require.Equal(t, "A map:\n[image, image/png, 0.0 kB]\n[artifact, stalls .csv, text/csv, 1.5 kB, sha256 9f86]", done.Result)
	require.Equal(t, []events.Part{
		{Type: events.PartText, Text: "A map:"},
		{Type: events.PartImage, MediaType: "image/png", Bytes: []byte(png), SizeBytes: 8},
		{Type: events.PartArtifact, Name: "stalls .csv", MediaType: "text/csv", SHA256: "9f86", SizeBytes: 1500},
	}, done.Parts)
	require.Equal(t, done.Result, message.Content)
	require.Equal(t, done.Parts, message.Parts)
}

// What no model could take is told of in its place; what is only text has no parts.
func TestPartsThatAreLeftOut(t *testing.T) {
	for want, part := range map[string]events.Part{
		"[image, image/tiff, 0.0 kB: left out, models take image/png": {Type: events.PartImage, MediaType: "image/tiff", Bytes: []byte(png)},
		"left out, its bytes are image/png]":                          {Type: events.PartImage, MediaType: "image/gif", Bytes: []byte(png)},
		"left out, its bytes are text/plain":                          {Type: events.PartImage, MediaType: "image/png"},
		"[audio, 0.0 kB: left out, no model takes it]":                {Type: "audio"},
		"a result has room for images of 3500 kB]":                    {Type: events.PartImage, Bytes: append([]byte(png), make([]byte, 4_000_000)...)},
		"only text": {Type: events.PartText, Text: "only text"},
	} {
		done, message := shown(t, agent.Result{Parts: []events.Part{part}})
		require.Contains(t, done.Result, want)
		require.Nil(t, done.Parts, "all of it is text")
		require.Equal(t, done.Result, message.Content)
	}
}

// The texts of a result are bounded together, and so is the number of parts.
func TestPartsAreBounded(t *testing.T) {
	text := events.Part{Type: events.PartText, Text: strings.Repeat("x", 3000)}
	done, _ := shown(t, agent.Result{Parts: slices.Concat([]events.Part{{Type: events.PartImage, Bytes: []byte(png)}}, slices.Repeat([]events.Part{text}, 1000))})
	require.Len(t, done.Parts, 4)
	require.Equal(t, 4096, strings.Count(done.Result, "x"))
	require.Contains(t, done.Result, "[cut: 1096 of 3000 characters shown]")
	require.Contains(t, done.Result, "[998 more parts were left out]")

	done, _ = shown(t, agent.Result{Parts: slices.Repeat([]events.Part{{Type: events.PartArtifact}}, 1000)})
	require.Len(t, done.Parts, 33)
	require.Contains(t, done.Result, "[968 more parts were left out]")
}
