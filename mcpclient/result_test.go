package mcpclient

import (
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A large result is looked at and not copied: a server may send 100 MB, many runs at once.
func TestLargeResultIsNotCopied(t *testing.T) {
	values := map[string]string{"A": "first secret", "B": "second secret"}
	hide := secretsOf(func(name string) (string, bool) { value, ok := values[name]; return value, ok }, "${A} ${B}")
	whole := strings.Repeat("a line of the result\n", 100_000)
	answer := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: whole}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result := resultOf(answer, hide)
	runtime.ReadMemStats(&after)
	require.Len(t, result.Text, len(whole))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(whole)/2))
	answer.Content = []mcp.Content{&mcp.TextContent{Text: "it is the second secret"}}
	require.Equal(t, "it is the ${B}", resultOf(answer, hide).Text)
}
