package batch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/llmtest"
)

// A row's files are kept with its run and stand in its request. A row whose files or folder
// cannot be had, or lie outside the root, fails alone and says why; nothing of them is read.
func TestFilesOfRows(t *testing.T) {
	place := t.TempDir()
	root := filepath.Join(place, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	for name, content := range map[string]string{"root/a.txt": "the first", "root/sub/b.md": "the second", "root/latin": "caf\xe9", "secret": "the secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(place, filepath.FromSlash(name)), []byte(content), 0o600))
	}
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("root", filepath.Join(place, "linked")))
	many := `["a.txt"` + strings.Repeat(`,"a.txt"`, 100) + `]`
	bad := map[string]string{
		`"files":["../secret"]`:                                     "leads out of the root of files",
		`"files":["sub/../../root"]`:                                "leads out of the root of files",
		fmt.Sprintf(`"files":[%q]`, filepath.Join(place, "secret")): "leads out of the root of files",
		`"files":["link"]`:                                          "cannot be read",
		`"files":["up/secret"]`:                                     "cannot be read",
		`"files":["a.txt","none"]`:                                  `the file \"none\" cannot be read: no such file`,
		`"files":["sub"]`:                                           "it is a folder",
		`"files":["latin"]`:                                         "not valid UTF-8",
		`"files":[""]`:                                              "leads out of the root of files",
		`"files":"a.txt"`:                                           "not an array of paths",
		`"files":` + many:                                           "101 files; at most 100",
		`"folder":"up"`:                                             "cannot be read",
		`"folder":"../root"`:                                        "leads out of the root of files",
		`"folder":"/"`:                                              "leads out of the root of files",
		`"folder":"a.txt"`:                                          "cannot be read",
		`"folder":"none"`:                                           "cannot be read",
	}
	lines, wants := []string{`{"id":"good","request":"Compare","files":["a.txt","sub/b.md"],"folder":"sub"}`}, []string{`"status":"completed"`}
	for columns, want := range bad {
		lines, wants = append(lines, `{"request":"Compare",`+columns+`}`), append(wants, want)
	}
	client := llmtest.Script(t, llmtest.Agent("", llmtest.Says("The same.")))
	log := events.NewMemory()
	c := batch.Config{
		Runner: newRunner(t, log, client), Team: solo(t), Solo: true, FilesRoot: filepath.Join(place, "linked"),
		Extract: func(_ context.Context, name string, data []byte) agent.File {
			return agent.File{Name: name, MediaType: "text/plain", Data: data}
		},
	}
	files := batch.Files{Input: write(t, "in.jsonl", lines...), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{1, len(bad)}, []int{report.Completed, report.Failed})
	for i, line := range read(t, files.Output) {
		require.Contains(t, line, wants[i], lines[i])
		require.NotContains(t, line, "the secret")
	}
	sent := client.Requests("")
	require.Len(t, sent, 1, "a bad row asks no model")
	text := sent[0].Messages[len(sent[0].Messages)-1].Content
	require.Contains(t, text, "Compare\n\n## File: a.txt\n\n> the first\n\n## File: sub/b.md\n\n> the second")
	kept, err := log.Runs(t.Context(), events.RunQuery{})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, "sub", kept[0].Batch.Folder)
	created, err := log.Read(t.Context(), events.ThreadKey{Tenant: kept[0].Tenant, Thread: kept[0].Thread}, 0, 0, events.KindArtifactCreated)
	require.NoError(t, err)
	require.Len(t, created, 2)
	require.Equal(t, "b.md", created[1].Data.(events.ArtifactCreated).Name)
}

// Files of rows need the folder that they are in; one that cannot be read is refused before
// anything is started, like a bad row where the batch is strict.
func TestRootOfFiles(t *testing.T) {
	files := batch.Files{Input: write(t, "in.csv", "request,files,folder", "Go,a.txt; b.txt,", "Go,,sub", "Go,,"), Output: filepath.Join(t.TempDir(), "out.jsonl")}
	c := batch.Config{Runner: newRunner(t, events.NewMemory(), sim.New(sim.Options{})), Team: solo(t), Solo: true}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{report.Completed, report.Failed})
	for _, line := range read(t, files.Output)[:2] {
		require.Contains(t, line, "set it with --files-root DIR")
	}
	c.FilesRoot = filepath.Join(t.TempDir(), "none")
	_, err = batch.New(c)
	require.ErrorContains(t, err, "none, cannot be read: no such file")

	c.FilesRoot, files.Output, files.Strict = t.TempDir(), filepath.Join(t.TempDir(), "out.jsonl"), true
	require.NoError(t, os.WriteFile(filepath.Join(c.FilesRoot, "a.txt"), []byte("A"), 0o600))
	_, err = run(t, files, c)
	require.ErrorContains(t, err, `the file "b.txt" cannot be read`)
}

// read gives the lines of a file.
func read(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
