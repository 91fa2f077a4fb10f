package team

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/convene-run/convene/internal/nearest"
)

// DefaultName is the built-in team of a run that names none: it claims no domain.
const DefaultName = "general"

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// BuiltinNames lists the built-in teams in alphabetical order.
func BuiltinNames() []string { return builtinNames() }

var builtinNames = sync.OnceValue(func() []string {
	files, err := fs.Glob(builtinFiles, "builtin/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	return names
})

// Builtin gives a built-in team by name. An unknown name is an error that lists
// those there are.
func Builtin(name string) (*Team, error) {
	src, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+" (built in)", src)
}

// BuiltinSource gives the file of a built-in team, to read or to start one's own
// from.
func BuiltinSource(name string) ([]byte, error) {
	src, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return nil, unknown(name)
	}
	return src, nil
}

// UnknownError says that there is no team of a name, neither built in nor as a
// file.
type UnknownError struct {
	Name string
	// Builtin are the built-in teams, Near the one that may be meant.
	Builtin []string
	Near    string
}

func unknown(name string) *UnknownError {
	return &UnknownError{Name: name, Builtin: BuiltinNames(), Near: nearest.Of(name, BuiltinNames())}
}

func (e *UnknownError) Error() string {
	hint := ""
	if e.Near != "" {
		hint = fmt.Sprintf("did you mean %q? ", e.Near)
	}
	return fmt.Sprintf("unknown team %q: there is no built-in team and no file of that name; %sthe built-in teams are %s; give a team file by its path; `convene team init` writes one",
		clip(e.Name), hint, join(e.Builtin))
}

// Resolve gives the team that a person names: a built-in one, else the file at
// that path. A file in the working directory that is called as a built-in team
// is meant by "./name". An empty name gives the default team.
func Resolve(nameOrPath string) (*Team, error) {
	if nameOrPath == "" {
		nameOrPath = DefaultName
	}
	t, err := Builtin(nameOrPath)
	var missing *UnknownError
	if !errors.As(err, &missing) {
		return t, err
	}
	t, err = Load(nameOrPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, missing
	}
	return t, err
}
