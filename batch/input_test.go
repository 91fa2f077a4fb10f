package batch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// ran runs the text as a file of that name and gives report and outputs.
func ran(t testing.TB, name, text string, files batch.Files) (batch.Report, []batch.Output, error) {
	t.Helper()
	dir := t.TempDir()
	files.Input, files.Output = filepath.Join(dir, name), filepath.Join(dir, "out.jsonl")
	require.NoError(t, os.WriteFile(files.Input, []byte(text), 0o600))
	report, err := run(t, files, config(t, events.NewMemory()))
	if err != nil {
		return report, nil, err
	}
	return report, outputs(t, files.Output), nil
}

// Proves R72: what is wrong with a row is that row's error, with its line, whatever
// it is; the others run.
func TestBadRowsAreRowsOfTheirOwn(t *testing.T) {
	huge := `{"request":"` + strings.Repeat("x", 50<<20) + `"}`
	for name, test := range map[string]struct{ row, kind, message string }{
		"no JSON":          {"plan a day", batch.KindInvalidRow, "not a JSON object"},
		"an array":         {`["plan"]`, batch.KindInvalidRow, "JSON array"},
		"cut":              {`{"request":"plan`, batch.KindInvalidRow, "not a JSON object"},
		"no request":       {`{"id":"x"}`, batch.KindInvalidRow, "missing or empty"},
		"blank request":    {`{"request":"  "}`, batch.KindInvalidRow, "missing or empty"},
		"request a number": {`{"request":7}`, batch.KindInvalidRow, `"request" is 7, not text`},
		"id an object":     {`{"id":{},"request":"plan"}`, batch.KindInvalidRow, `"id" is {}`},
		"vars a text":      {`{"vars":"x","request":"plan"}`, batch.KindInvalidRow, `"vars" is "x", not an object`},
		"unknown team":     {`{"team":"nobody","request":"plan"}`, batch.KindUnknownTeam, "nobody"},
		"bad thread":       {`{"thread_id":"7","request":"plan"}`, batch.KindInvalidRow, "not a UUID version 4"},
		"NUL":              {`{"request":"a\u0000b"}`, batch.KindInvalidRow, "NUL"},
		"too long":         {`{"request":"` + strings.Repeat("y", 2<<20) + `"}`, batch.KindInvalidRow, "at most"},
		"50 MB":            {huge, batch.KindRowTooLarge, fmt.Sprintf("has %d bytes", len(huge))},
	} {
		t.Run(name, func(t *testing.T) {
			if test.kind == batch.KindRowTooLarge {
				race.Skip(t, "one goroutine reads a huge row")
			}
			report, all, err := ran(t, "in.jsonl", `{"request":"one"}`+"\n\n"+test.row+"\n"+`{"request":"two"}`, batch.Files{})
			require.NoError(t, err)
			require.Equal(t, []int{2, 1}, []int{report.Completed, report.Failed})
			require.Equal(t, test.kind, all[1].Error.Kind)
			require.Contains(t, all[1].Error.Message, "line 3: ")
			require.Contains(t, all[1].Error.Message, test.message)
			if test.kind == batch.KindRowTooLarge {
				return
			}
			_, _, err = ran(t, "in.jsonl", `{"request":"one"}`+"\n\n"+test.row, batch.Files{Strict: true})
			require.ErrorContains(t, err, "nothing was started")
		})
	}
}

// missing finds every model but one.
type missing struct {
	runner.Models
	name string
}

func (m missing) Resolve(specs ...string) (llm.Route, error) {
	if slices.Contains(specs, m.name) {
		return nil, fmt.Errorf("there is no model %s", m.name)
	}
	return m.Models.Resolve(specs...)
}

// A row whose team cannot be started, as its model is not found, is that row's error too.
func TestARowWhoseTeamCannotBeStarted(t *testing.T) {
	c := config(t, events.NewMemory())
	var err error
	c.Runner, err = newRunnerOf(c.Runner.Log(), missing{oneClient{client: sim.New(sim.Options{})}, "gone"})
	require.NoError(t, err)
	gone := *c.Team
	gone.Name, gone.Facilitator.Model = "gone", "gone"
	c.Teams = func(string) (*team.Team, error) { return &gone, nil }
	files := batch.Files{Output: filepath.Join(t.TempDir(), "out.jsonl"), Input: write(t, "in.jsonl",
		`{"request":"one"}`, `{"request":"two","team":"gone"}`, `{"request":"three","team":"gone"}`, `{"request":"four"}`)}
	report, err := run(t, files, c)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{report.Completed, report.Failed})
	for _, out := range outputs(t, files.Output)[1:3] {
		require.Equal(t, batch.KindConfiguration, out.Error.Kind)
		require.Contains(t, out.Error.Message, "there is no model gone")
	}
}

func TestCSVRows(t *testing.T) {
	_, all, err := ran(t, "in.csv", "\ufeffid,request,city\r\n1,\"Plan\na day, please\",Kyoto\r\nbad\r\n3,\"he said \"\"go\"\"\",\n", batch.Files{})
	require.NoError(t, err)
	require.Equal(t, "1", all[0].ID)
	require.JSONEq(t, `{"city":"Kyoto"}`, string(all[0].Input))
	require.Contains(t, all[1].Error.Message, "line 4: the row has 1 columns where the header has 3")
	require.Equal(t, events.StatusCompleted, all[2].Status)
	_, _, err = ran(t, "in.csv", "id,id,request\n", batch.Files{})
	require.ErrorContains(t, err, `column "id" twice`)
}

// Rows without an id are named by their content, equal ones numbered; a sample is the
// same every time.
func TestIDsAndSelections(t *testing.T) {
	text := strings.Repeat("same\n", 3) + "other\n"
	_, all, err := ran(t, "in.txt", text, batch.Files{})
	require.NoError(t, err)
	require.Equal(t, []string{all[0].ID + "-2", all[0].ID + "-3"}, []string{all[1].ID, all[2].ID})
	require.NotContains(t, all[3].ID, all[0].ID)

	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "row %d\n", i)
	}
	indices := func(files batch.Files) (taken []int) {
		_, all, err := ran(t, "in.txt", lines.String(), files)
		require.NoError(t, err)
		for _, out := range all {
			taken = append(taken, out.Index)
		}
		return taken
	}
	sample := indices(batch.Files{Sample: 20})
	require.Len(t, sample, 20)
	require.IsIncreasing(t, sample)
	require.Greater(t, sample[19], 50, "spread over all")
	require.Equal(t, sample, indices(batch.Files{Sample: 20}))
	require.Equal(t, []int{0, 1, 2}, indices(batch.Files{Limit: 3}))
	require.Len(t, indices(batch.Files{Sample: 1000}), 100)
}

// A duplicate is found among any number of rows, before any call.
func TestDuplicateIDs(t *testing.T) {
	race.Skip(t, "one goroutine reads many rows")
	lines := make([]string, 60_000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"r%d","request":"x"}`, i)
	}
	lines[59_999] = `{"id":"r7","request":"y"}`
	_, _, err := ran(t, "in.jsonl", strings.Join(lines, "\n"), batch.Files{})
	var duplicates *batch.DuplicateError
	require.ErrorAs(t, err, &duplicates)
	require.Equal(t, [][2]int{{7, 59_999}}, duplicates.Pairs)
	require.ErrorContains(t, err, "1 row repeats the id of an earlier row")
	require.ErrorContains(t, err, `"r7": line 8 and line 60000`)
}

// Any bytes are rows or bad rows: one output for each line that is not blank.
func TestAnyBytesGiveAnOutputForEveryRow(t *testing.T) {
	c := config(t, events.NewMemory())
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`\{"request":"[a-z]{1,5}"\}`), rapid.StringMatching(`[ -~]{0,20}`), rapid.Just("\xff\xfe{"),
		), 0, 12).Draw(rt, "lines")
		rows := 0
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				rows++
			}
		}
		var out bytes.Buffer
		report, err := run(t, batch.Files{
			Input: "-", Stdin: strings.NewReader(strings.Join(lines, "\n")), Output: "-", Stdout: &out, Format: batch.FormatJSONL,
		}, c)
		require.NoError(rt, err)
		require.Equal(rt, rows, report.Rows)
		require.Equal(rt, rows, strings.Count(out.String(), "\n"))
	})
}

// fullDisk takes some bytes and then no more.
type fullDisk struct{ room int }

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

// A sink that fails stops the batch, says so, and hangs nobody.
func TestFullDisk(t *testing.T) {
	report, err := run(t, batch.Files{Input: write(t, "in.jsonl", requests(200)...), Output: "-", Stdout: &fullDisk{room: 20_000}}, config(t, events.NewMemory()))
	require.ErrorContains(t, err, "no space left on device")
	require.Equal(t, batch.StopBroken, report.Stop.Kind)
	require.Greater(t, report.Left, 0)
}

// An input that breaks off while it is read is no shorter input.
func TestUnreadableInput(t *testing.T) {
	_, err := run(t, batch.Files{
		Input: "-", Stdin: io.MultiReader(strings.NewReader("one\ntwo\n"), brokenReader{}), Output: filepath.Join(t.TempDir(), "out.jsonl"),
	}, config(t, events.NewMemory()))
	require.ErrorContains(t, err, "copy standard input to disk: the pipe broke")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

// While calls wait for the endpoint no row is started.
func TestRowsWaitForRoom(t *testing.T) {
	var waiting atomic.Bool
	waiting.Store(true)
	c := config(t, events.NewMemory())
	c.Limiters = func() []llm.LimiterState {
		if waiting.Load() {
			return []llm.LimiterState{{Waiting: 1}}
		}
		return nil
	}
	job, err := batch.Open(t.Context(), batch.Files{Input: write(t, "in.jsonl", requests(20)...), Output: filepath.Join(t.TempDir(), "o.jsonl")}, c)
	require.NoError(t, err)
	ended := make(chan batch.Report)
	go func() {
		report, _ := job.Run(t.Context())
		ended <- report
	}()
	time.Sleep(50 * time.Millisecond)
	require.Zero(t, job.Progress().Done)
	waiting.Store(false)
	require.Equal(t, 20, (<-ended).Completed)
}

// A quote in CSV that is never closed would take the rest of the file for one value, and
// one that a later quote closes would take rows for a part of it: the first is refused
// before anything is started, the second is said with the lines that it took.
func TestUnclosedQuote(t *testing.T) {
	for name, c := range map[string]struct{ text, why string }{
		"in a row":           {"id,request\n1,Plan a day\n2,\"Plan a night\n3,Plan a week\n4,Plan a year\n", "line 3: a quote is never closed"},
		"in the header":      {"id,\"request\n1,Plan\n", "line 1: a quote is never closed"},
		"in the last":        {"request\n\"Plan", "line 2: a quote is never closed"},
		"over a row's bound": {"request\nPlan\n\"" + strings.Repeat("x\n", files.MaxRowBytes), "line 3: a quote is never closed"},
		"after an escaped":   {"request\n\"he said \"\"go\"\n\"a \"\"b\"\"\n", "line 3: a quote is never closed"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.text) > files.MaxRowBytes {
				race.Skip(t, "one goroutine reads a huge row")
			}
			_, _, err := ran(t, "in.csv", c.text, batch.Files{})
			require.ErrorContains(t, err, c.why)
			require.ErrorContains(t, err, "nothing was started")
		})
	}
	_, all, err := ran(t, "in.csv", "id,request\n1,\"Plan a day\n2,Plan a night\n3,\"Plan a week\"\n4,Plan a year\n", batch.Files{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Contains(t, all[0].Error.Message, "line 2: the row is not CSV")
	require.Contains(t, all[0].Error.Message, "the lines 2 to 4 were read as this row")
	require.Equal(t, "4", all[1].ID)
}

// A quote amid a value opens nothing: inches and seconds are bad CSV in their own row, not
// in those behind it.
func TestStrayQuoteIsItsRowsOwn(t *testing.T) {
	_, all, err := ran(t, "in.csv", "id,request\n1,He is 5' 10\" tall\n2,Plan a night\n3,\"Plan\" a week\n4,\"Plan, a\nyear\"\n", batch.Files{})
	require.NoError(t, err)
	require.Len(t, all, 4)
	for i, ok := range []bool{false, true, false, true} {
		require.Equal(t, ok, all[i].Error == nil, "row %d: %v", i, all[i].Error)
	}
	require.Contains(t, all[0].Error.Message, "line 2: the row is not CSV")
	require.Contains(t, all[2].Error.Message, "line 4: the row is not CSV")
}

// A value that is larger than a row may be, in quotes that are closed, is that row's error.
func TestHugeQuotedValue(t *testing.T) {
	race.Skip(t, "one goroutine reads a huge row")
	_, all, err := ran(t, "in.csv", "id,request\n1,\""+strings.Repeat(strings.Repeat("x", 63)+"\n", files.MaxRowBytes/32)+"\"\n2,Plan\n", batch.Files{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, batch.KindRowTooLarge, all[0].Error.Kind)
	require.Equal(t, "2", all[1].ID)
}

// What is not UTF-8 is said, whatever the format: a decoder that puts another character in
// its place would have the model asked about a text that nobody wrote.
func TestInvalidUTF8(t *testing.T) {
	for name, text := range map[string]string{
		"in.jsonl": "{\"request\":\"one\"}\n{\"id\":\"b\",\"request\":\"caf\xe9\"}\n{\"request\":\"two\"}\n",
		"in.csv":   "request\none\ncaf\xe9\ntwo\n",
		"in.txt":   "one\ncaf\xe9\ntwo\n",
	} {
		t.Run(name, func(t *testing.T) {
			report, all, err := ran(t, name, text, batch.Files{})
			require.NoError(t, err)
			require.Equal(t, []int{2, 1}, []int{report.Completed, report.Failed})
			require.Equal(t, batch.KindInvalidRow, all[1].Error.Kind)
			require.Contains(t, all[1].Error.Message, "is not valid UTF-8")
			require.Contains(t, all[1].Error.Message, "0xE9")
			_, _, err = ran(t, name, text, batch.Files{Strict: true})
			require.ErrorContains(t, err, "nothing was started")
		})
	}
	_, _, err := ran(t, "in.csv", "caf\xe9,request\na,one\n", batch.Files{})
	require.ErrorContains(t, err, "line 1: the header is not valid UTF-8")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var text []byte
		for _, unit := range utf16.Encode([]rune("\ufeffrequest\nPlan a day\n")) {
			text = order.AppendUint16(text, unit)
		}
		for _, name := range []string{"in.csv", "in.txt", "in.jsonl"} {
			_, _, err := ran(t, name, string(text), batch.Files{})
			require.ErrorContains(t, err, "UTF-16")
		}
	}
}

// A file whose format nobody said, and whose name and content do not tell it, is not taken
// for lines of prose.
func TestUnknownFormat(t *testing.T) {
	for name, c := range map[string]struct{ name, text, why string }{
		"an unknown extension": {"in.tsv", "request\nPlan\n", "in.tsv: the format of .tsv files is unknown"},
		"a spreadsheet":        {"in.xlsx", "PK\x03\x04", ".xlsx"},
		"compressed":           {"in.jsonl.gz", "\x1f\x8b", ".gz"},
		"CSV without a name":   {"in", "id,request\n1,Plan\n", `its first line has a column "request"`},
		"CSV named text":       {"in.txt", "\ufeff\"id\",\"request\"\n1,Plan\n", `its first line has a column "request"`},
		"one column":           {"in.txt", "request\nPlan\n", `its first line has a column "request"`},
		"semicolons":           {"in.txt", "id;Request\n1;Plan\n", `its first line has a column "Request"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ran(t, c.name, c.text, batch.Files{})
			require.ErrorContains(t, err, c.why)
			require.ErrorContains(t, err, "--format")
		})
	}
	_, err := run(t, batch.Files{Input: "-", Stdin: strings.NewReader("id,request\n1,Plan\n"), Output: "-"}, config(t, events.NewMemory()))
	require.ErrorContains(t, err, `standard input: its first line has a column "request"`)

	report, _, err := ran(t, "in.tsv", "id,request\n1,Plan\n", batch.Files{Format: batch.FormatLines})
	require.NoError(t, err, "who says the format is believed")
	require.Equal(t, 2, report.Completed)
	for _, name := range []string{"in", "in.txt", "in.TXT", "in.data"} {
		report, _, err := ran(t, name, "{\"request\":\"Plan\"}\n", batch.Files{})
		require.NoError(t, err, "JSON objects tell their format")
		require.Equal(t, 1, report.Completed)
	}
	for _, text := range []string{"A request, and another\nPlan\n", "Please request, for us, a table\n\n"} {
		_, _, err := ran(t, "in.txt", text, batch.Files{})
		require.NoError(t, err)
	}
	_, _, err = ran(t, "in.csv", "id;request\n1;Plan\n", batch.Files{})
	require.ErrorContains(t, err, "separated by commas")
}
