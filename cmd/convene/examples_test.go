package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// exampleReadmes are the pages of the examples that a reader plays without a model.
func exampleReadmes(t *testing.T) []string {
	pages, err := filepath.Glob(filepath.Join(repository, "examples", "*", "README.md"))
	require.NoError(t, err)
	require.Len(t, pages, 3)
	return pages
}

// The commands of each example's page run as they stand there, in a copy of its folder.
// A block of text behind them is what they print; a block with the name of a file stands in
// that file. "…" stands for what a page leaves out.
func TestExamples(t *testing.T) {
	if race.Enabled {
		t.Skip("its processes take several times as long; it runs without the race detector")
	}
	t.Parallel()
	scripts, folders := t.TempDir(), map[string]string{}
	for _, page := range exampleReadmes(t) {
		folder := filepath.Dir(page)
		folders[filepath.Base(folder)] = folder
		require.NoError(t, os.WriteFile(filepath.Join(scripts, filepath.Base(folder)+".txtar"), []byte(exampleScript(t, page)), 0o600))
	}
	testscript.Run(t, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			folder := folders[strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")]
			return os.CopyFS(filepath.Join(env.WorkDir, "example"), os.DirFS(folder))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"prints": prints, "stands": stands},
	})
}

// exampleScript gives the script of an example's page.
func exampleScript(t *testing.T, page string) string {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	require.Contains(t, first, "written by hand", "%s: the first line says whose words these are", page)
	script, files := "[!exec:sh] skip 'there is no sh'\ncd example\n", ""
	for i, block := range fence.FindAllStringSubmatch(string(text), -1) {
		file := fmt.Sprintf("block%d", i)
		reason, language, name, code := block[1], block[2], block[3], block[4]
		files += "-- " + file + " --\n" + code
		switch {
		case name != "":
			script += "stands ../" + file + " " + name + " " + language + "\n"
		case language == "sh" && reason == "":
			script += "exec sh -ec 'exec 2>&1; . ../" + file + "'\n"
		case language == "text":
			script += "prints ../" + file + "\n"
		default:
			require.NotEmpty(t, reason, "%s: a block that is neither run nor checked:\n%s", page, code)
		}
	}
	return script + files
}

// prints checks what the last command has printed.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: prints BLOCK")
	}
	if !abridged(ts.ReadFile(args[0])).MatchString(ts.ReadFile("stdout")) {
		ts.Fatalf("the command printed something else:\n%s", ts.ReadFile("stdout"))
	}
}

// stands checks that a file has a block.
func stands(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stands BLOCK FILE LANGUAGE")
	}
	block, file := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if args[2] != "json" {
		if !abridged(block).MatchString(file) {
			ts.Fatalf("%s has no such passage:\n%s", args[1], block)
		}
		return
	}
	var want, value any
	ts.Check(json.Unmarshal([]byte(block), &want))
	values := json.NewDecoder(strings.NewReader(file))
	for {
		err := values.Decode(&value)
		if errors.Is(err, io.EOF) {
			ts.Fatalf("%s has no value with:\n%s\nIt is:\n%s", args[1], block, file)
		}
		ts.Check(err)
		if within(want, value) {
			return
		}
		value = nil
	}
}

// abridged matches the lines of a text, anything at an ellipsis.
func abridged(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)(?m:^)" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(text, "\n")), "…", ".*?") + "(?m:$)")
}

// within reports whether a JSON value has all that another one has: members, and items of
// lists in their order.
func within(want, value any) bool {
	switch want := want.(type) {
	case map[string]any:
		members, ok := value.(map[string]any)
		for name, member := range want {
			ok = ok && within(member, members[name])
		}
		return ok
	case []any:
		items, ok := value.([]any)
		for _, item := range want {
			for len(items) > 0 && !within(item, items[0]) {
				items = items[1:]
			}
			if len(items) == 0 {
				return false
			}
			items = items[1:]
		}
		return ok
	}
	return want == value
}
