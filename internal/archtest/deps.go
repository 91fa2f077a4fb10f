package archtest

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Modules gives the modules, other than this one, that an embedding program takes in with
// the packages: what it must download, review and keep up to date.
func Modules(root string, packages ...string) ([]string, error) {
	return list(root, "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", packages)
}

// Dependencies gives the packages that are initialized wherever the packages are, those of
// the standard library included.
func Dependencies(root string, packages ...string) ([]string, error) {
	return list(root, "{{.ImportPath}}", packages)
}

// list gives a line of every dependency of the packages, each line once.
func list(root, format string, packages []string) ([]string, error) {
	command := exec.CommandContext(context.Background(), "go", append([]string{"list", "-deps", "-f", format}, packages...)...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the dependencies of %s: %w", strings.Join(packages, ", "), err)
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
