package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row of the tables is about something that exists: a directory that is gone, and
// an importer that no longer imports, leave the tables.
func TestEveryRowIsInUse(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range slices.Concat(layers, standardOnly, domains) {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir)))
		if !assert.NoError(t, err, dir) {
			continue
		}
		assert.True(t, info.IsDir(), dir)
	}
	for _, rule := range vendors {
		for _, importer := range rule.importers {
			assert.True(t, imports(t, filepath.Join(root, filepath.FromSlash(importer)), rule.vendor), "%s does not import %s", importer, rule.vendor)
		}
	}
}

// imports reports whether a Go file below dir imports the vendor.
func imports(t *testing.T, dir, vendor string) bool {
	found := false
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found = found || within(imported, vendor)
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// ARCHITECTURE's table has every package of the module.
func TestEveryPackageIsInArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	table, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	require.NoError(t, err)
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && skipped(file, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		assert.Contains(t, string(table), "`"+filepath.ToSlash(dir)+"`")
		return err
	})
	require.NoError(t, err)
}
