package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// imported is an import of another module of the page.
var imported = regexp.MustCompile(`(?m)^import [^;]*"\./(\w+)";`)

// PageCircles names the import circles among the sources of the page in dir: the
// modules of each, in order, with the first again at the end. It reads one circle for
// each module that leads back to one above it.
func PageCircles(dir string) ([]string, error) {
	imports := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.ts*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read imports of the page: %w", err)
		}
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		for _, match := range imported.FindAllSubmatch(source, -1) {
			imports[name] = append(imports[name], string(match[1]))
		}
	}
	var circles, path []string
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if at := slices.Index(path, name); at >= 0 {
			circles = append(circles, strings.Join(append(path[at:len(path):len(path)], name), " → "))
			return
		}
		if done[name] {
			return
		}
		path = append(path, name)
		for _, next := range imports[name] {
			visit(next)
		}
		path = path[:len(path)-1]
		done[name] = true
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		visit(name)
	}
	return circles, nil
}
