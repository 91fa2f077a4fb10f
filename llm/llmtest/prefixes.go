package llmtest

import (
	"testing"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/internal/compare"
)

// RequirePrefixes fails the test unless each request continues the one before it
// byte by byte: the same tools, and all messages of the one before first. This is
// what a provider's prompt cache asks for.
func RequirePrefixes(t testing.TB, requests []llm.Request) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		if difference := compare.Prefix(requests[i-1], requests[i]); difference != "" {
			t.Fatalf("llmtest: request %d does not continue request %d: %s", i+1, i, difference)
		}
	}
}
