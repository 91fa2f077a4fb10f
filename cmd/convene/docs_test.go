package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// fence is a block of code in a page: why it is not run, its language, the file that it is,
// and the code.
var fence = regexp.MustCompile("(?ms)(?:^<!-- not run: ([^\n]+) -->\n)?^```(\\w*)(?: (\\S+))?\n(.*?)^```$")

// repository is the way from here to the repository.
const repository = "../.."

// documents are the pages that people read, by their paths.
func documents(t *testing.T) []string {
	pages, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	return append(pages, filepath.Join(repository, "README.md"))
}

// The commands of a page run as they stand there, one block after the other, on the files
// that it shows; those that need a key or a server say so.
func TestDocs(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	dir := t.TempDir()
	for _, page := range documents(t) {
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txtar"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(scriptOf(t, page)), 0o600))
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: func(env *testscript.Env) error {
		env.Setenv("CONVENE_MODEL", "sim")
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("GORACE", os.Getenv("GORACE"))
		return nil
	}})
}

// scriptOf gives the script of a page, with its files.
func scriptOf(t *testing.T, page string) string {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	script, files := "[!exec:sh] skip 'there is no sh'\n", ""
	for i, block := range fence.FindAllStringSubmatch(string(text), -1) {
		switch reason, language, name, code := block[1], block[2], block[3], block[4]; {
		case name != "":
			files += "-- " + name + " --\n" + code
		case language == "sh" && reason == "":
			file := "block" + string(rune('a'+i)) + ".sh"
			script += "exec sh -e " + file + "\n"
			files += "-- " + file + " --\n" + code
		default:
			require.Contains(t, []string{"sh", "go", "yaml", "json"}, language, "%s: a block without a language is neither run nor checked:\n%s", page, code)
		}
	}
	return script + files
}

// Go code in a page stands in an example, which is compiled and run; but for indentation.
func TestDocsQuoteExamples(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*/example*_test.go", "*/*/example*_test.go"} {
		files, err := filepath.Glob(filepath.Join(repository, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources.WriteString(flush(string(text)))
		}
	}
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[2] == "go" && block[3] == "" {
				require.Contains(t, sources.String(), flush(block[4]), "%s: no example has this", page)
			}
		}
	}
}

// flush gives the lines of a text without indentation.
func flush(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// link is a link to a file of the repository and a heading in it, heading a heading, noSlug
// what links leave out of it.
var (
	link    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// Links between pages lead somewhere.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	for _, page := range append(append(documents(t), exampleReadmes(t)...), filepath.Join(repository, "ARCHITECTURE.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			_, err := os.Stat(target)
			require.NoErrorf(t, err, "%s: %s", page, m[0])
			if m[2] != "" {
				require.Contains(t, slugs(t, target), m[2], "%s: %s", page, m[0])
			}
		}
	}
}

// slugs are what the headings of a page are linked by.
func slugs(t *testing.T, page string) []string {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var list []string
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		list = append(list, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}
