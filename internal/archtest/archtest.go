// Package archtest checks which package imports which. Its test runs over the
// whole module and names every broken edge with file and line; the rules are the
// tables of rules.go. Test files are free to import what they need.
//
//	broken, err := archtest.Check("../..")
//	for _, edge := range broken {
//		fmt.Println(edge) // board/create.go:7: imports …/team, which lies above board: …
//	}
package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the path that the module's own imports begin with.
const module = "github.com/convene-run/convene"

// Check reads the imports of every Go file below root, test files and nested
// modules aside, and gives a line for each import that breaks a rule, in the
// order of the files.
func Check(root string) ([]string, error) {
	var broken []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && skipped(file, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		lines, err := checkFile(root, file)
		broken = append(broken, lines...)
		return err
	})
	return broken, err
}

// skipped says which directories hold none of the module's packages.
func skipped(dir, name string) bool {
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil // a module of its own
}

func checkFile(root, file string) ([]string, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	relative = filepath.ToSlash(relative)
	var broken []string
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if reason := check(path.Dir(relative), imported); reason != "" {
			line := files.Position(spec.Pos()).Line
			broken = append(broken, fmt.Sprintf("%s:%d: imports %s, %s", relative, line, imported, reason))
		}
	}
	return broken, nil
}

// check says what is wrong with an import by the package in dir, "" if nothing.
func check(dir, imported string) string {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		return checkOwn(dir, strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"))
	}
	if !strings.Contains(top(imported), ".") {
		return "" // the standard library
	}
	if slices.Contains(standardOnly, dir) {
		return "but " + dir + " imports the standard library and packages below it alone"
	}
	for _, rule := range vendors {
		if within(imported, rule.vendor) && !slices.ContainsFunc(rule.importers, func(importer string) bool { return within(dir, importer) }) {
			return "but only " + strings.Join(rule.importers, " and ") + " may: " + rule.reason
		}
	}
	return ""
}

// checkOwn checks an import of one of the module's own packages.
func checkOwn(dir, imported string) string {
	if allowed, narrow := onlyImports[top(dir)]; narrow && top(dir) != top(imported) && !slices.Contains(allowed, imported) {
		return "but " + top(dir) + " imports " + strings.Join(allowed, ", ") + " alone"
	}
	from, to := layer(dir), layer(imported)
	switch {
	case from < 0:
		return "but " + top(dir) + " has no place in the layers; give it one in internal/archtest/rules.go"
	case to < 0:
		return "which has no place in the layers; give it one in internal/archtest/rules.go"
	case from > to:
		return "which lies above " + layers[from] + ": imports point downwards, " + strings.Join(layers, " > ")
	case slices.Contains(domains, dir) && top(imported) == dir:
		return "a package below " + dir + ": technologies import the domain, not the other way round"
	}
	return ""
}

// layer is the index in layers of the directory nearest to dir, -1 if none holds
// it.
func layer(dir string) int {
	for ; dir != "."; dir = path.Dir(dir) {
		if i := slices.Index(layers, dir); i >= 0 {
			return i
		}
	}
	return -1
}

// top is the first step of a path: "llm" of "llm/openai".
func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// within says whether a path is the given one or lies below it.
func within(dir, above string) bool {
	return dir == above || strings.HasPrefix(dir, above+"/")
}
