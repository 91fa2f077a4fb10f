package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

const secret = "the secret outside"

// tree writes files below a folder, which has no link in its path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

// opened gives the tools of a team by name.
func opened(t *testing.T, tools team.Tools, limits ...team.Limits) map[string]agent.Tool {
	t.Helper()
	tm := &team.Team{Tools: &tools}
	for _, l := range limits {
		tm.Limits = l
	}
	list, err := new(Kit).Tools(tm)
	require.NoError(t, err)
	byName := map[string]agent.Tool{}
	for _, tool := range list {
		byName[tool.Name] = tool
		require.Equal(t, events.EffectPure, tool.Handler.(agent.External).Effect, "a crash repeats it")
	}
	return byName
}

// calls calls a tool as the loop does.
func calls(t *testing.T, tool agent.Tool, args any) (string, error) {
	t.Helper()
	return callsIn(t.Context(), t, tool, args)
}

func callsIn(ctx context.Context, t *testing.T, tool agent.Tool, args any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	result, err := tool.Handler.(agent.External).Call(ctx, agent.Invocation{Ref: events.CallRef{Arguments: string(raw)}})
	return result.Text, err
}

type in = map[string]any

func TestFilesAreListedReadAndSearched(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "one\nTwo words\n", "sub/b.txt": "second two\n", "sub/c.bin": "\x00two", "empty": ""})
	require.NoError(t, os.Symlink("a.md", filepath.Join(root, "link.md")))
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{root}}})

	listed, err := calls(t, tools["list_files"], in{})
	require.NoError(t, err)
	require.Equal(t, "a.md (14)\nempty (0)\nlink.md (14)\nsub/b.txt (11)\nsub/c.bin (4)\n", listed)
	listed, err = calls(t, tools["list_files"], in{"path": "sub", "match": "*.txt"})
	require.NoError(t, err)
	require.Equal(t, "sub/b.txt (11)\n", listed)
	listed, err = calls(t, tools["list_files"], in{"match": "*.pdf"})
	require.NoError(t, err)
	require.Equal(t, "No file matches.", listed)

	for _, name := range []string{"a.md", "./a.md", "sub/../a.md", "link.md"} {
		text, err := calls(t, tools["read_file"], in{"path": name})
		require.NoError(t, err, name)
		require.Equal(t, "one\nTwo words\n", text)
	}
	text, err := calls(t, tools["read_file"], in{"path": "empty"})
	require.NoError(t, err)
	require.Equal(t, "[the file is empty, or ends here]", text)

	found, err := calls(t, tools["search_files"], in{"pattern": "two", "any_case": true})
	require.NoError(t, err)
	require.Equal(t, "a.md:2: Two words\nlink.md:2: Two words\nsub/b.txt:1: second two\n[4 files searched, 1 are no text or too large]", found)
	found, err = calls(t, tools["search_files"], in{"pattern": "^none$", "path": "sub"})
	require.NoError(t, err)
	require.Equal(t, "No line matches. [1 files searched, 1 are no text or too large]", found)
}

// Several roots are told apart by their names.
func TestSeveralRoots(t *testing.T) {
	root := tree(t, map[string]string{"docs/a.md": "A", "code/b.go": "B"})
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{filepath.Join(root, "docs"), filepath.Join(root, "code")}}})
	listed, err := calls(t, tools["list_files"], in{})
	require.NoError(t, err)
	require.Equal(t, "docs/a.md (1)\ncode/b.go (1)\n", listed)
	text, err := calls(t, tools["read_file"], in{"path": "code/b.go"})
	require.NoError(t, err)
	require.Equal(t, "B", text)
	listed, err = calls(t, tools["list_files"], in{"path": "code"})
	require.NoError(t, err)
	require.Equal(t, "code/b.go (1)\n", listed)
	for _, name := range []string{"a.md", "docs/../code/b.go", "docs/../../x", ".."} {
		_, err = calls(t, tools["read_file"], in{"path": name})
		if name == "docs/../code/b.go" {
			require.NoError(t, err) // which is in one of them
			continue
		}
		require.ErrorContains(t, err, "is in none of the folders, which are docs, code", name)
	}
}

// A long file is read on where the part before ended, to the last byte, also where a part
// would end within a character.
func TestLongFileIsReadInParts(t *testing.T) {
	whole := strings.Repeat("äöü€🧭 line\n", 300)
	root := tree(t, map[string]string{"long": whole})
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{root}}}, team.Limits{MaxToolResultChars: 1000})
	got, offset := "", 0
	for range 100 {
		text, err := calls(t, tools["read_file"], in{"path": "long", "offset": offset})
		require.NoError(t, err)
		require.LessOrEqual(t, len([]rune(text)), 1000)
		piece, note, more := strings.Cut(text, "\n[bytes ")
		got += piece
		if !more || strings.Contains(note, "the end]") {
			break
		}
		_, err = fmt.Sscanf(note[strings.Index(note, "offset"):], "offset %d]", &offset)
		require.NoError(t, err)
	}
	require.Equal(t, whole, got)
	_, err := calls(t, tools["read_file"], in{"path": "long", "offset": len(whole) + 1})
	require.ErrorContains(t, err, "offset 5701 is none")
	_, err = calls(t, tools["read_file"], in{"path": "long", "offset": -1})
	require.Error(t, err)
}

// Proves R76: no path, link or special file leads out, and nothing is read.
func TestFileEscapes(t *testing.T) {
	outside := tree(t, map[string]string{"secret": secret, "docs2/secret": secret})
	root := filepath.Join(outside, "docs")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	for link, target := range map[string]string{
		"absolute": filepath.Join(outside, "secret"), "relative": "../secret", "folder": "..", "sibling": "../docs2", "loop": "loop", "dangling": "nowhere", "sub/up": "../../secret",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	huge, err := os.Create(filepath.Join(root, "huge"))
	require.NoError(t, err)
	require.NoError(t, huge.Truncate(10<<30)) // it has no bytes on disk
	require.NoError(t, huge.Close())
	names := []string{
		"../secret", "sub/../../secret", "..", "../docs2/secret", filepath.Join(outside, "secret"), "/etc/passwd", `..\secret`, "", ".", "sub",
		"absolute", "relative", "folder/secret", "folder/docs/../secret", "sibling/secret", "loop", "dangling", "sub/up", "huge", "none", "a\x00b", strings.Repeat("a/", 5000),
	}
	names = append(names, makeSpecial(t, root)...)
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{root}}})
	for _, name := range names {
		text, err := calls(t, tools["read_file"], in{"path": name})
		require.Error(t, err, "%q was read: %.100s", name, text)
		if !strings.Contains(name, outside) {
			require.NotContains(t, err.Error(), outside, "no path of this machine is told")
		}
	}
	for _, folder := range []string{"", "folder", "sibling", "..", outside} {
		for _, tool := range []string{"list_files", "search_files"} {
			text, _ := calls(t, tools[tool], in{"path": folder, "pattern": "secret"})
			require.NotContains(t, text, secret)
			require.NotContains(t, text, "docs2")
			require.NotContains(t, text, "secret (")
		}
	}
}

// A run with a folder of its own reads that, in place of what the team names, and nothing
// beside it: not what links lead to, nor its neighbours.
func TestOwnFolderOfARun(t *testing.T) {
	root := tree(t, map[string]string{"rows/one/a": "A", "rows/two/b": secret, "docs/c": secret, "out": secret})
	for link, target := range map[string]string{"rows/one/two": "../two", "rows/one/out": "../../out", "rows/linked": "../docs", "rows/near": "one"} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, filepath.FromSlash(link))))
	}
	reads := func(own agent.Folder, tool string, args in, roots ...string) (string, error) {
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: roots}})
		result, err := tools[tool].Handler.(agent.External).Call(t.Context(), agent.Invocation{Ref: events.CallRef{Arguments: string(raw)}, Folder: own})
		return result.Text, err
	}
	rows, docs := filepath.Join(root, "rows"), filepath.Join(root, "docs")
	for _, roots := range [][]string{nil, {docs}} {
		for _, path := range []string{"one", "near", "two/../one"} {
			own := agent.Folder{Root: rows, Path: path}
			text, err := reads(own, "read_file", in{"path": "a"}, roots...)
			require.NoError(t, err)
			require.Equal(t, "A", text)
			text, err = reads(own, "list_files", in{}, roots...)
			require.NoError(t, err)
			require.Equal(t, "a (1)\n", text)
			text, err = reads(own, "search_files", in{"pattern": "."}, roots...)
			require.NoError(t, err)
			require.Contains(t, text, "a:1: A\n[1 files searched")
			for _, name := range []string{"../two/b", "two/b", "out", "c", filepath.Join(docs, "c")} {
				text, err := reads(own, "read_file", in{"path": name}, roots...)
				require.Error(t, err, "%q was read: %s", name, text)
				require.NotContains(t, err.Error(), root+"/rows", "no path of this machine is told")
			}
		}
		for path, want := range map[string]string{"..": "leads out", "../docs": "leads out", docs: "leads out", "linked": "cannot be read", "none": "cannot be read", "one/a": "cannot be read"} {
			_, err := reads(agent.Folder{Root: rows, Path: path}, "list_files", in{}, roots...)
			require.ErrorContains(t, err, want, path)
		}
		_, err := reads(agent.Folder{Path: "one"}, "read_file", in{"path": "c"}, roots...)
		require.ErrorContains(t, err, "continue the batch with its own command")
	}
	_, err := reads(agent.Folder{}, "read_file", in{"path": "a"})
	require.ErrorContains(t, err, "no folder of its own")
}

// What is no text becomes an artifact where its text can be had, and is refused otherwise, in
// words that say why.
func TestDocumentsAreReadAsArtifacts(t *testing.T) {
	root := tree(t, map[string]string{"a.pdf": "%PDF-1.4 of letters", "scan.docx": "PK\x03\x04\xff", "photo": "\x89PNG\xff", "blob": "\x00\x01", "plain.md": "text"})
	settings := team.Tools{Files: &team.FilesTool{Roots: []string{root}}}
	kit := &Kit{Extract: func(_ context.Context, name string, data []byte) agent.File {
		file := agent.File{Name: name, Data: data}
		switch name {
		case "a.pdf":
			file.Pages = []string{"one", "two"}
		case "scan.docx":
			file.Note = "its text was not read: it is damaged"
		case "photo":
			file.MediaType = "image/png"
		}
		return file
	}}
	list, err := kit.Tools(&team.Team{Tools: &settings})
	require.NoError(t, err)
	read := func(name string) (agent.Result, error) {
		return list[1].Handler.(agent.External).Call(t.Context(), agent.Invocation{Ref: events.CallRef{Arguments: `{"path":"` + name + `"}`}})
	}
	for _, name := range []string{"a.pdf", "photo"} {
		result, err := read(name)
		require.NoError(t, err)
		require.Len(t, result.Files, 1)
		require.Equal(t, name, result.Files[0].Name)
		require.Empty(t, result.Text)
	}
	result, err := read("plain.md")
	require.NoError(t, err)
	require.Equal(t, "text", result.Text)
	_, err = read("scan.docx")
	require.EqualError(t, err, "scan.docx: its text was not read: it is damaged")
	_, err = read("blob")
	require.EqualError(t, err, "blob is neither text in UTF-8 nor a document whose text can be read")
	_, err = calls(t, opened(t, settings)["read_file"], in{"path": "a.pdf"})
	require.ErrorContains(t, err, "a.pdf is not text in UTF-8, and cannot be read here")
}

// A root that was replaced by a link since somebody consented to it is not read.
func TestRootThatBecomesALink(t *testing.T) {
	outside := tree(t, map[string]string{"docs/a": "A", "other/a": secret})
	root := filepath.Join(outside, "docs")
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{root}}})
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.Symlink("other", root))
	_, err := calls(t, tools["read_file"], in{"path": "a"})
	require.ErrorContains(t, err, "is a link")
	_, err = new(Kit).Tools(&team.Team{Tools: &team.Tools{Files: &team.FilesTool{Roots: []string{root}}}})
	require.ErrorContains(t, err, "is a link")
	_, err = new(Kit).Tools(&team.Team{Tools: &team.Tools{Files: &team.FilesTool{Roots: []string{"docs"}}}})
	require.ErrorContains(t, err, "is not absolute")
	_, err = new(Kit).Tools(&team.Team{Tools: &team.Tools{Files: &team.FilesTool{Roots: []string{filepath.Join(outside, "none")}}}})
	require.ErrorContains(t, err, "cannot be read")
}

func TestSearchRefusesWhatItCannotRead(t *testing.T) {
	root := tree(t, map[string]string{"a": strings.Repeat("x\n", 2*maxMatches), "long": strings.Repeat("y", 3*lineBytes) + "\nneedle\n", "latin": "caf\xe9\n"})
	tools := opened(t, team.Tools{Files: &team.FilesTool{Roots: []string{root}}})
	for _, args := range []in{{"pattern": "("}, {"pattern": ""}, {"pattern": strings.Repeat("a", 1001)}, {"pattern": "a", "match": "["}} {
		_, err := calls(t, tools["search_files"], args)
		require.Error(t, err, args)
	}
	found, err := calls(t, tools["search_files"], in{"pattern": "x"})
	require.NoError(t, err)
	require.Equal(t, maxMatches, strings.Count(found, "a:"))
	require.Contains(t, found, "more was not searched")
	found, err = calls(t, tools["search_files"], in{"pattern": "needle"})
	require.NoError(t, err)
	require.Contains(t, found, "long:2: needle")
	_, err = calls(t, tools["read_file"], in{"path": "latin"})
	require.ErrorContains(t, err, "latin is not text in UTF-8")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tools["search_files"].Handler.(agent.External).Call(ended, agent.Invocation{Ref: events.CallRef{Arguments: `{"pattern":"x"}`}})
	require.ErrorIs(t, err, context.Canceled)
}
