package team

import "reflect"

const (
	emptyFile = "the file is empty; `convene team init` writes one to start from"
	blankFile = "the file says nothing; `convene team init` writes one to start from"
)

// YAML is a file of another kind that is read by the rules of team files: unknown keys
// are refused with the nearest name, and all problems are told at once, each with line
// and column.
//
//	var settings struct {
//		Model string `json:"model"`
//	}
//	file := team.ReadYAML("config.yaml", src, &settings)
//	if settings.Model == "none" {
//		file.Problem("model", "model names none")
//	}
//	err := file.Err() // a *FileError
//
// It is not safe for concurrent use.
type YAML struct {
	name string
	d    *decoder
}

// ReadYAML reads a file into a struct, whose json tags are the keys that the file may
// have: text, numbers, lists, structs, maps by name, and JSON as it is. A file that says
// nothing leaves the struct as it was. name is the file's in error messages.
func ReadYAML[T any](name string, src []byte, into *T) *YAML {
	y := &YAML{name: name, d: newDecoder()}
	root, problem := parseSource(src)
	switch {
	case problem != nil && (problem.Message == emptyFile || problem.Message == blankFile):
	case problem != nil:
		y.d.found = problems{*problem}
	default:
		y.d.into(root, "", reflect.ValueOf(into).Elem())
	}
	return y
}

// Problem adds what is wrong with the value at the path, such as "providers.acme.api". It
// is left out where the value could not be read at all.
func (y *YAML) Problem(path, format string, args ...any) {
	if !y.d.isBroken(path) {
		y.d.broke(path, format, args...)
	}
}

// Err gives all problems as a [*FileError], nil if there are none.
func (y *YAML) Err() error { return y.d.found.err(y.name, y.d.places) }
