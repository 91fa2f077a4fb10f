package openai_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// What a stream handed on belongs to whoever got it, however many replies are read with the
// same memory later.
func TestWhatWasHandedOnStays(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "wire", "*.sse"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all [][]llm.Delta
	var said []string
	for range 2 {
		for _, file := range files {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			var deltas []llm.Delta
			client := openai.NewForTest(openai.Config{Config: wire.Config{Provider: "test"}}, "text/event-stream", body)
			for delta, err := range client.Stream(t.Context(), ask("hi")) {
				if err == nil {
					deltas = append(deltas, delta)
				}
			}
			all, said = append(all, deltas), append(said, written(t, deltas))
		}
	}
	for i, deltas := range all {
		require.Equal(t, said[i], written(t, deltas), files[i%len(files)])
	}
}

func written(t *testing.T, deltas []llm.Delta) string {
	text, err := json.Marshal(deltas)
	require.NoError(t, err)
	return string(text)
}
