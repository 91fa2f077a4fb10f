package batch

import "github.com/convene-run/convene/batch/internal/files"

// Format is how a file writes its rows.
type Format = files.Format

// The formats.
const (
	FormatJSONL = files.FormatJSONL // one JSON object a line
	FormatCSV   = files.FormatCSV   // with a header; columns of other names are vars
	FormatLines = files.FormatLines // one request a line
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) { return files.ParseFormat(name) }
