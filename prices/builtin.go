package prices

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed table.json
var builtin string

// Builtin is the table that comes with the program. A process asks for few of its models, and
// reads those: all of them would take longer than opening a store.
var Builtin = sync.OnceValue(func() *Table {
	head, lines, _ := strings.Cut(builtin, "\n    ")
	var f file[entry]
	if err := decode([]byte(head+"}}"), &f); err != nil {
		panic(fmt.Sprintf("built-in prices: %v", err)) // a test reads the same bytes
	}
	models := make(map[string]*stored, strings.Count(lines, "\n    ")+1)
	for line := range strings.SplitSeq(lines, "\n    ") {
		name, model, _ := strings.Cut(strings.TrimPrefix(line, `"`), `": `)
		model = strings.TrimSuffix(strings.TrimSuffix(model, "\n  }\n}\n"), ",")
		models[slashed(name)] = &stored{also: alsoIn(model), text: model}
	}
	return makeTable(f.AsOf, f.Source, models)
})

// alsoIn gives the field of an entry in the form of [Table.Encode], where it comes first and
// its names need no escapes.
func alsoIn(model string) []string {
	list, found := strings.CutPrefix(model, `{"also":["`)
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, `"]`)
	return strings.Split(list, `","`)
}

// stored is a model of a table: as it is, or as the text that it is decoded from when somebody
// asks for it.
type stored struct {
	also  []string
	text  string
	once  sync.Once
	model *Model
}

// get gives the model. It is safe for concurrent use.
func (s *stored) get() *Model {
	s.once.Do(func() {
		if s.model != nil {
			return
		}
		var e entry
		err := decode([]byte(s.text), &e)
		if err == nil {
			s.model, err = e.model()
		}
		if err != nil {
			panic(fmt.Sprintf("built-in prices: %s: %v", s.text, err)) // a test reads all
		}
	})
	return s.model
}
