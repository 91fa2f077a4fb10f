package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// fence is a block of code in a page, with its language and the file that it is.
var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

// pages are those whose commands run offline.
var pages = []string{"teams.md"}

// The commands of the pages in docs run as they stand there, on the files that they show.
func TestDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		require.NoError(t, err)
		var script, files strings.Builder
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			switch language, name, content := block[1], block[2], block[3]; {
			case name != "":
				files.WriteString("-- " + name + " --\n" + content)
			case language == "sh":
				for line := range strings.Lines(content) {
					script.WriteString("exec " + strings.ReplaceAll(line, `"`, "'"))
				}
			}
		}
		name := strings.TrimSuffix(page, ".md") + ".txtar"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script.String()+files.String()), 0o600))
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: func(env *testscript.Env) error {
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("GORACE", os.Getenv("GORACE"))
		return nil
	}})
}
