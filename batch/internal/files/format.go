package files

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
	"unicode/utf8"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
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
	return "", fmt.Errorf("unknown format %q: choose jsonl, csv or lines", name)
}

// guessFormat goes by the file's name, else by its first bytes. What tells neither way is
// an error: requests that nobody wrote would cost money.
func guessFormat(name string, head []byte) (Format, error) {
	extension := strings.ToLower(filepath.Ext(name))
	switch extension {
	case ".jsonl", ".ndjson", ".json":
		return FormatJSONL, nil
	case ".csv":
		return FormatCSV, nil
	}
	head = bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark))
	if bytes.HasPrefix(head, []byte("{")) {
		return FormatJSONL, nil
	}
	switch extension {
	case "", ".txt", ".text":
	default:
		return "", fmt.Errorf("the format of %s files is unknown. Set --format to jsonl, csv or lines, and convert other formats to one of these", extension)
	}
	if column := requestColumn(head); column != "" {
		return "", fmt.Errorf("its first line has a column %q, as in CSV. Use --format csv, or --format lines if each line is a request", column)
	}
	return FormatLines, nil
}

// requestColumn gives the name in the first line that is a column of requests, whatever
// separates the columns; "" if none is.
func requestColumn(head []byte) string {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	for name := range bytes.FieldsFuncSeq(first, func(c rune) bool { return strings.ContainsRune(",;\t|", c) }) {
		if name := string(bytes.Trim(name, "\" \r")); strings.EqualFold(name, columnRequest) {
			return name
		}
	}
	return ""
}

// isUTF16 tells a file of two-byte characters by its mark and the zeros in them.
func isUTF16(head []byte) bool {
	marked := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	return marked && bytes.IndexByte(head, 0) >= 0
}

// checkUTF8 refuses what is not UTF-8: a decoder would put another character there.
func checkUTF8(what string, data []byte) error {
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for at < len(data) {
		c, size := utf8.DecodeRune(data[at:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fmt.Errorf("%s is not valid UTF-8: byte %d is 0x%02X. Save the file as UTF-8, such as with iconv -f WINDOWS-1252 -t UTF-8", what, at+1, data[at])
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
	columnFiles   = "files"
	columnFolder  = "folder"
)

// fileSeparator stands between the files of a row in CSV.
const fileSeparator = ";"

// maxIDChars bounds an explicit id: it is in every view and in every output.
const maxIDChars = 200

// decode reads a record. Where the error is not nil the row has what could be read.
func (d *decoder) decode(rec *Record) (Row, error) {
	row := Row{Line: rec.Line}
	if rec.tooLong() {
		return row, &RowError{Line: rec.Line, Kind: KindRowTooLarge, Message: fmt.Sprintf("the row has %d bytes; at most %d are allowed", rec.size, MaxRowBytes)}
	}
	err := checkUTF8("the row", rec.Data)
	if err == nil {
		err = d.decodeAs(rec, &row)
	}
	if err == nil && strings.TrimSpace(row.Request) == "" {
		err = errors.New(`"request" is missing or empty`)
	}
	if err != nil {
		return row, &RowError{Line: rec.Line, Kind: KindInvalidRow, Message: err.Error()}
	}
	return row, nil
}

func (d *decoder) decodeAs(rec *Record, row *Row) error {
	switch d.format {
	case FormatJSONL:
		return decodeJSON(rec.Data, row)
	case FormatCSV:
		err := d.decodeCSV(rec.Data, row)
		if err != nil && rec.last > rec.Line {
			err = fmt.Errorf("%w; the lines %d to %d were read as this row, because of a quote", err, rec.Line, rec.last)
		}
		return err
	}
	row.Request = string(rec.Data)
	return nil
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
	read(columnFiles, func(v json.RawMessage) error { return readFiles(v, &row.Files) })
	read(columnFolder, func(v json.RawMessage) error { return readText(v, &row.Folder) })
	read(columnVars, func(v json.RawMessage) error { return ReadVars(v, &row.Vars) })
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
		return fmt.Errorf("is %s, not text", chars.Clip(string(value), 40))
	}
	return nil
}

func readFiles(value json.RawMessage, into *[]string) error {
	if json.Unmarshal(value, into) != nil {
		return fmt.Errorf("is %s, not an array of paths, such as [\"report.pdf\"]", chars.Clip(string(value), 40))
	}
	return nil
}

func readID(value json.RawMessage, into *string) error {
	text, ok := scalar(value)
	if !ok || text == "" || chars.Over(text, maxIDChars) {
		return fmt.Errorf("is %s, not a text or number of 1 to %d characters", chars.Clip(string(value), 40), maxIDChars)
	}
	*into = text
	return nil
}

// ReadVars reads an object of texts, numbers and booleans.
func ReadVars(value json.RawMessage, into *map[string]string) error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(value, &raw) != nil {
		return fmt.Errorf("is %s, not an object", chars.Clip(string(value), 40))
	}
	*into = make(map[string]string, len(raw))
	for name, v := range raw {
		text, ok := scalar(v)
		if !ok {
			return fmt.Errorf("has %s for %q; give a text, a number, true or false", chars.Clip(string(v), 40), name)
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
func (d *decoder) readHeader(rec Record, err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkUTF8("the header", rec.Data); err != nil {
		return fmt.Errorf("line %d: %w", rec.Line, err)
	}
	header, err := csvFields(rec.Data)
	if err != nil || rec.tooLong() {
		return fmt.Errorf("line %d: the header cannot be read: %w", rec.Line, err)
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("line %d: the header has the column %q twice", rec.Line, header[i])
		}
	}
	if !slices.Contains(header, columnRequest) {
		hint := ""
		if requestColumn(rec.Data) != "" {
			hint = ": columns are separated by commas, and it is written in small letters"
		}
		return fmt.Errorf("line %d: the header (%s) has no column %q%s", rec.Line, chars.Clip(strings.Join(header, ", "), 200), columnRequest, hint)
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
		case columnFiles:
			row.Files = separated(fields[i])
		case columnFolder:
			row.Folder = fields[i]
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
	if chars.Over(row.ID, maxIDChars) {
		return fmt.Errorf("%q has %d characters; at most %d are allowed", columnID, chars.Count(row.ID), maxIDChars)
	}
	return nil
}

// separated gives the files of a row in CSV.
func separated(field string) (paths []string) {
	for path := range strings.SplitSeq(field, fileSeparator) {
		if path = strings.TrimSpace(path); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
