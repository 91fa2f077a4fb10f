package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/archtest"
)

// maxModules is how many modules an embedder of the runner with its durable log takes at
// most. Another one is a decision, not an accident.
const maxModules = 17

func TestEmbedderTakesFewModules(t *testing.T) {
	modules, err := archtest.Modules(filepath.Join("..", ".."), "./runner", "./events/sqlite")
	require.NoError(t, err)
	require.Contains(t, modules, "modernc.org/sqlite", "the listing works")
	require.LessOrEqual(t, len(modules), maxModules, "%v", modules)
}

// What is linked into the program is initialized by each of its commands, also by those
// that need nothing of it.
func TestProgramStartsWithWhatItNeeds(t *testing.T) {
	packages, err := archtest.Dependencies(filepath.Join("..", ".."), "./cmd/convene")
	require.NoError(t, err)
	require.Contains(t, packages, "github.com/spf13/cobra", "the listing works")
	for unwanted, reason := range map[string]string{
		"testing":                            "it belongs to tests, and registers flags",
		"github.com/alecthomas/chroma/v2":    "it builds the tables of all its lexers and styles, some 20 ms",
		"github.com/microcosm-cc/bluemonday": "it compiles dozens of patterns",
	} {
		require.NotContains(t, packages, unwanted, reason)
	}
}

// A pattern that a package variable holds is compiled by every command, used or not:
// [lazyregexp] has those.
func TestProgramCompilesNoPatternsAtStartup(t *testing.T) {
	root := filepath.Join("..", "..")
	packages, err := archtest.Dependencies(root, "./cmd/convene")
	require.NoError(t, err)
	atStartup := regexp.MustCompile(`(?m)^(?:var |\t)\w+ *= regexp\.`)
	looked := 0
	for _, path := range packages {
		dir, own := strings.CutPrefix(path, "github.com/convene-run/convene/")
		if !own {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			looked++
			require.Empty(t, atStartup.FindAllString(string(source), -1), file)
		}
	}
	require.NotZero(t, looked)
}
