package archtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/archtest"
)

func TestImportsPointDownwards(t *testing.T) {
	broken, err := archtest.Check(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, edge := range broken {
		t.Error(edge)
	}
}

// A module with one good file of each kind and one import of every forbidden
// kind: exactly the latter are named.
func TestBrokenEdgesAreNamed(t *testing.T) {
	const own = "github.com/convene-run/convene/"
	root := t.TempDir()
	write := func(file, content string) {
		path := filepath.Join(root, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	imports := func(file string, paths ...string) {
		content := "package x\n\nimport (\n"
		for _, path := range paths {
			content += "\t_ \"" + path + "\"\n"
		}
		write(file, content+")\n")
	}
	imports("cmd/convene/main.go", "os", own+"runner", own+"events/sqlite", own+"cmd/internal/termview", "github.com/spf13/cobra")
	imports("llm/openai/client.go", own+"llm", own+"events", "github.com/sashabaranov/go-openai")
	imports("llm/endpoint/endpoint.go", own+"llm/openai")
	imports("team/schemas.go", own+"team/internal/schemas", "github.com/goccy/go-yaml/ast", "github.com/google/jsonschema-go/jsonschema")
	imports("board/board_test.go", own+"runner", "github.com/stretchr/testify/require")
	imports("web/page.go", own+"events", own+"web/dist", "github.com/gorilla/websocket")
	imports("events/testdata/gen.go", own+"runner")
	imports("examples/embedding/main.go", own+"runner", "github.com/sashabaranov/go-openai")
	write("examples/embedding/go.mod", "module other\n")
	broken, err := archtest.Check(root)
	require.NoError(t, err)
	require.Empty(t, broken)

	imports("agent/loop.go", "fmt", own+"runner", "github.com/sashabaranov/go-openai")
	imports("board/create.go", own+"events", own+"team", "golang.org/x/sync/errgroup")
	imports("document/document.go", own+"misc")
	imports("cmd/internal/termview/view.go", own+"runner", own+"cmd/convene")
	imports("llm/client.go", own+"llm/openai")
	imports("misc/misc.go", own+"events")
	imports("runner/runner.go", "github.com/spf13/cobra", "github.com/stretchr/testify/require")
	imports("web/runs.go", own+"runner")
	broken, err = archtest.Check(root)
	require.NoError(t, err)
	require.Len(t, broken, 11)
	for i, want := range []string{
		"agent/loop.go:5: imports " + own + "runner, which lies above agent: imports point downwards",
		"agent/loop.go:6: imports github.com/sashabaranov/go-openai, but only llm/openai and internal/bench/bareloop may",
		"board/create.go:5: imports " + own + "team, which lies above board",
		"board/create.go:6: imports golang.org/x/sync/errgroup, but board imports the standard library",
		"cmd/internal/termview/view.go:5: imports " + own + "cmd/convene, which lies above cmd/internal",
		"document/document.go:4: imports " + own + "misc, which has no place in the layers",
		"llm/client.go:4: imports " + own + "llm/openai, a package below llm",
		"misc/misc.go:4: imports " + own + "events, but misc has no place in the layers",
		"runner/runner.go:4: imports github.com/spf13/cobra, but only cmd may",
		"runner/runner.go:5: imports github.com/stretchr/testify/require, but only events/eventstest and llm/llmtest and llm/wire/wiretest and internal may",
		"web/runs.go:4: imports " + own + "runner, but web imports audit, conversation, thread, access, board, document, events, internal/lazyregexp alone",
	} {
		require.Contains(t, broken[i], want)
	}

	write("agent/loop.go", "package x\nimport oops\n")
	_, err = archtest.Check(root)
	require.ErrorContains(t, err, "loop.go:2")
}

func TestPageHasNoImportCircle(t *testing.T) {
	circles, err := archtest.PageCircles(filepath.Join("..", "..", "web", "src"))
	require.NoError(t, err)
	require.Empty(t, circles)
}

func TestPageCirclesAreNamed(t *testing.T) {
	dir := t.TempDir()
	for file, source := range map[string]string{
		"app.tsx":    "import { a } from \"./run\";\nimport \"./style\";\n",
		"run.ts":     "// The run.\n\nimport {\n  Filter,\n} from \"./filter\";\n",
		"filter.ts":  "import type { Run } from \"./run\";\n",
		"style.ts":   "import { render } from \"preact\";\n",
		"unused.tsx": "import { a } from \"./app\";\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(source), 0o600))
	}
	circles, err := archtest.PageCircles(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"run → filter → run"}, circles)
}
