package team_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
)

// Any bytes give a team or problems with places, soon, and never a panic.
func FuzzParse(f *testing.F) {
	for _, name := range team.BuiltinNames() {
		src, err := team.BuiltinSource(name)
		require.NoError(f, err)
		f.Add(src)
	}
	example, err := os.ReadFile(filepath.Join("..", "examples", "teams", "launch.yaml"))
	require.NoError(f, err)
	f.Add(example)
	f.Add(team.Template("new"))
	for _, src := range []string{
		small, bomb(), "{\"name\": \"j\"}", "? a\n: b\n", "- &a [*a]\n", "a: !!map {b: c}\n", "%YAML 1.2\n---\na: b\n...\n",
		"a: |2-\n   b\n", "a: >+\n\n b\n", "a: \"\\x00\\u0000\"\n", "a: 0x1F\nb: 1_000\nc: .inf\nd: 0o17\n", "<<: {a: b}\n", "a:\t- b\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		parsed, err := team.Parse("fuzz.yaml", src)
		require.Less(t, time.Since(start), 30*time.Second)
		if err == nil {
			requireStable(t, parsed)
			return
		}
		var file *team.FileError
		require.ErrorAs(t, err, &file)
		require.NotEmpty(t, file.Problems)
		for _, problem := range file.Problems {
			require.NotEmpty(t, problem.Message)
		}
	})
}
