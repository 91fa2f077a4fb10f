package batch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// Format is how a file writes its rows.
type Format string

// The formats.
const (
	FormatJSONL Format = "jsonl" // one JSON object a line
	FormatCSV   Format = "csv"   // with a header; columns of other names are vars
	FormatLines Format = "lines" // one request a line
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	for _, f := range []Format{FormatJSONL, FormatCSV, FormatLines} {
		if string(f) == name {
			return f, nil
		}
	}
	return "", fmt.Errorf("there is no format %q: choose jsonl, csv or lines", name)
}

// guessFormat goes by the file's name, else by its first byte.
func guessFormat(name string, head []byte) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".ndjson", ".json":
		return FormatJSONL
	case ".csv":
		return FormatCSV
	}
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark)), []byte("{")) {
		return FormatJSONL
	}
	return FormatLines
}

// decoder makes rows of the records of a format.
type decoder struct {
	format Format
	header []string // of CSV
}

// The columns that convene reads.
const (
	columnID      = "id"
	columnRequest = "request"
	columnTeam    = "team"
	columnVars    = "vars"
	columnThread  = "thread_id"
)

// maxIDBytes bounds an explicit id: it is in every view and in every output.
const maxIDBytes = 200

// decode reads a record. Where the error is not nil the row has what could be read.
func (d *decoder) decode(rec *record) (Row, error) {
	row := Row{line: rec.line}
	if rec.tooLong() {
		return row, &RowError{Kind: KindRowTooLarge, Message: fmt.Sprintf("the row has %d bytes; at most %d are taken", rec.size, MaxRowBytes)}
	}
	var err error
	switch d.format {
	case FormatJSONL:
		err = decodeJSON(rec.data, &row)
	case FormatCSV:
		err = d.decodeCSV(rec.data, &row)
	default:
		row.Request = string(rec.data)
	}
	if err == nil && strings.TrimSpace(row.Request) == "" {
		err = errors.New(`"request" is missing or empty`)
	}
	if err != nil {
		return row, &RowError{Kind: KindInvalidRow, Message: err.Error()}
	}
	return row, nil
}

func decodeJSON(data []byte, row *Row) error {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(data, &columns); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
			return errors.New("the row is a JSON array; write one object a line (jq -c '.[]' turns an array into lines)")
		}
		return fmt.Errorf("the row is not a JSON object: %w", err)
	}
	var errs []error
	read := func(name string, into func(json.RawMessage) error) {
		if value, ok := columns[name]; ok && !bytes.Equal(value, []byte("null")) {
			if err := into(value); err != nil {
				errs = append(errs, fmt.Errorf("%q %w", name, err))
			}
		}
		delete(columns, name)
	}
	read(columnID, func(v json.RawMessage) error { return readID(v, &row.ID) })
	read(columnRequest, func(v json.RawMessage) error { return readText(v, &row.Request) })
	read(columnTeam, func(v json.RawMessage) error { return readText(v, &row.Team) })
	read(columnThread, func(v json.RawMessage) error { return readText(v, (*string)(&row.Thread)) })
	read(columnVars, func(v json.RawMessage) error { return readVars(v, &row.Vars) })
	if len(columns) > 0 {
		rest, err := json.Marshal(columns)
		if err != nil {
			errs = append(errs, err)
		}
		row.Input = rest
	}
	return errors.Join(errs...)
}

func readText(value json.RawMessage, into *string) error {
	if json.Unmarshal(value, into) != nil {
		return fmt.Errorf("is %s, not text", clip(string(value), 40))
	}
	return nil
}

func readID(value json.RawMessage, into *string) error {
	text, ok := scalar(value)
	if !ok || text == "" || len(text) > maxIDBytes {
		return fmt.Errorf("is %s, not a text or number of 1 to %d bytes", clip(string(value), 40), maxIDBytes)
	}
	*into = text
	return nil
}

func readVars(value json.RawMessage, into *map[string]string) error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(value, &raw) != nil {
		return fmt.Errorf("is %s, not an object", clip(string(value), 40))
	}
	*into = make(map[string]string, len(raw))
	for name, v := range raw {
		text, ok := scalar(v)
		if !ok {
			return fmt.Errorf("has %s for %q; give a text, a number, true or false", clip(string(v), 40), name)
		}
		(*into)[name] = text
	}
	return nil
}

// scalar gives the text of a JSON text, number or boolean.
func scalar(value json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(value, &text) == nil && !bytes.Equal(value, []byte("null")) {
		return text, true
	}
	if len(value) == 0 || strings.ContainsRune("{[n", rune(value[0])) {
		return "", false
	}
	return string(value), true
}

// readHeader takes the header of a CSV file.
func (d *decoder) readHeader(rec record, err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	header, err := csvFields(rec.data)
	if err != nil || rec.tooLong() {
		return fmt.Errorf("line %d: the header cannot be read: %w", rec.line, err)
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("line %d: the header has the column %q twice", rec.line, header[i])
		}
	}
	if !slices.Contains(header, columnRequest) {
		return fmt.Errorf("line %d: the header (%s) has no column %q", rec.line, clip(strings.Join(header, ", "), 200), columnRequest)
	}
	d.header = header
	return nil
}

func csvFields(data []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	fields, err := r.Read()
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return nil, syntax.Err // the line in it counts from this record
	}
	return fields, err
}

func (d *decoder) decodeCSV(data []byte, row *Row) error {
	fields, err := csvFields(data)
	if err != nil {
		return fmt.Errorf("the row is not CSV: %w", err)
	}
	if len(fields) != len(d.header) {
		return fmt.Errorf("the row has %d columns where the header has %d", len(fields), len(d.header))
	}
	others := map[string]string{}
	for i, name := range d.header {
		switch name {
		case columnID:
			row.ID = fields[i]
		case columnRequest:
			row.Request = fields[i]
		case columnTeam:
			row.Team = fields[i]
		case columnThread:
			row.Thread = events.ThreadID(fields[i])
		default:
			others[name] = fields[i]
		}
	}
	if len(others) > 0 {
		row.Vars = others
		if row.Input, err = json.Marshal(others); err != nil {
			return err
		}
	}
	if len(row.ID) > maxIDBytes {
		return fmt.Errorf("%q has %d bytes; at most %d are taken", columnID, len(row.ID), maxIDBytes)
	}
	return nil
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
