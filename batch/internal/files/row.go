package files

import (
	"encoding/json"
	"fmt"

	"github.com/convene-run/convene/events"
)

// Row is a row as the input has it.
type Row struct {
	// ID is the row's own, where Explicit is set, or made from its content.
	ID       string
	Explicit bool
	// Index is the row's place in the input, from 0.
	Index int
	// Line is where the row begins, from 1.
	Line    int
	Request string
	Team    string
	Vars    map[string]string
	Thread  events.ThreadID
	// Files and Folder are paths below the root of files, as the row gives them.
	Files  []string
	Folder string
	// Input is a JSON object of the other columns.
	Input json.RawMessage
}

// Kinds of [RowError].
const (
	KindInvalidRow  = "invalid_row"
	KindRowTooLarge = "row_too_large"
)

// RowError is a row that cannot be read. The others are not concerned.
type RowError struct {
	Line    int
	Kind    string
	Message string
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }
