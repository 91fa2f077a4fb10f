// Package cases checks teams: a case is a request with what is expected of its result,
// and is run as a row of a batch.
package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/batch/internal/files"
	"github.com/convene-run/convene/events"
)

// Case is a request to a team with what is expected of its result.
type Case struct {
	// Name defaults to "case 3", by the line.
	Name    string
	Request string
	Vars    map[string]string
	// Files and Folder are those of a row, below [batch.Config.FilesRoot].
	Files  []string
	Folder string
	Expect Expect

	line    int
	matches []*regexp.Regexp
	schema  *jsonschema.Resolved
}

// Expect is what a case expects. What is left out is not looked at, but for the
// status.
type Expect struct {
	// Status defaults to "completed".
	Status events.Status `json:"status"`
	// Contains are texts, and Matches regular expressions, that answer or document have;
	// Lacks are texts that neither has.
	Contains []string `json:"contains"`
	Matches  []string `json:"matches"`
	Lacks    []string `json:"lacks"`
	// Schema is a JSON Schema that the answer, being JSON, fits.
	Schema json.RawMessage `json:"schema"`
	// MinTasks and MaxTasks bound the number of tasks.
	MinTasks *int `json:"min_tasks"`
	MaxTasks *int `json:"max_tasks"`
	// Specialists are those that have finished a task.
	Specialists []events.AgentID `json:"specialists"`
	MaxCostUSD  *float64         `json:"max_cost_usd"`
}

// maxCases bounds a file of cases: a person looks at each.
const maxCases = 10_000

// Read reads cases, one JSON object a line: {"name": "…", "request": "…",
// "vars": {}, "files": [], "folder": "", "expect": {"contains": ["…"], "max_tasks": 6}}. The error names the
// lines of all that are wrong.
func Read(in io.Reader) ([]*Case, error) {
	var cases []*Case
	var errs []error
	records := files.NewRecords(in, false)
	for {
		rec, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		c, err := readCase(&rec)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", rec.Line, err))
		}
		if cases = append(cases, c); len(cases) > maxCases {
			return nil, fmt.Errorf("there are more than %d cases; split the file", maxCases)
		}
	}
	if len(cases) == 0 {
		errs = append(errs, errors.New("there are no cases"))
	}
	return cases, errors.Join(errs...)
}

func readCase(rec *files.Record) (*Case, error) {
	var raw struct {
		Name    string          `json:"name"`
		Request string          `json:"request"`
		Vars    json.RawMessage `json:"vars"`
		Files   []string        `json:"files"`
		Folder  string          `json:"folder"`
		Expect  Expect          `json:"expect"`
	}
	d := json.NewDecoder(bytes.NewReader(rec.Data))
	d.DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	c := &Case{Name: raw.Name, Request: raw.Request, Files: raw.Files, Folder: raw.Folder, Expect: raw.Expect, line: rec.Line}
	if c.Name == "" {
		c.Name = fmt.Sprintf("case %d", rec.Line)
	}
	var errs []error
	if strings.TrimSpace(c.Request) == "" {
		errs = append(errs, errors.New(`"request" is missing or empty`))
	}
	if raw.Vars != nil {
		errs = append(errs, files.ReadVars(raw.Vars, &c.Vars))
	}
	for _, pattern := range c.Expect.Matches {
		compiled, err := regexp.Compile(pattern)
		errs = append(errs, err)
		c.matches = append(c.matches, compiled)
	}
	if c.Expect.Schema != nil {
		var schema jsonschema.Schema
		err := json.Unmarshal(c.Expect.Schema, &schema)
		if err == nil {
			c.schema, err = schema.Resolve(nil)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("schema: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

// Row gives the row that runs the case.
func (c *Case) Row(index int) batch.Row {
	return batch.Row{ID: c.Name, Index: index, Request: c.Request, Vars: c.Vars, Files: c.Files, Folder: c.Folder, Line: c.line}
}

// Check gives what the output lacks, in words; nothing if it is as expected.
func (c *Case) Check(out *batch.Output) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	want := c.Expect.Status
	if want == "" {
		want = events.StatusCompleted
	}
	if out.Status != want {
		reason := ""
		if out.Error != nil {
			reason = ": " + out.Error.Message
		}
		add("status is %s, not %s%s", out.Status, want, reason)
	}
	text := out.Answer + "\n" + out.Document
	for _, part := range c.Expect.Contains {
		if !strings.Contains(text, part) {
			add("neither answer nor document contains %q", part)
		}
	}
	for _, part := range c.Expect.Lacks {
		if strings.Contains(text, part) {
			add("answer or document contains %q", part)
		}
	}
	for _, pattern := range c.matches {
		if !pattern.MatchString(text) {
			add("neither answer nor document matches %q", pattern)
		}
	}
	c.checkAnswer(out, add)
	c.checkWork(out, add)
	return wrong
}

func (c *Case) checkAnswer(out *batch.Output, add func(string, ...any)) {
	if c.schema == nil {
		return
	}
	var value any
	if err := json.Unmarshal([]byte(out.Answer), &value); err != nil {
		add("the answer is not JSON: %v", err)
	} else if err := c.schema.Validate(value); err != nil {
		add("the answer does not fit the schema: %v", err)
	}
}

func (c *Case) checkWork(out *batch.Output, add func(string, ...any)) {
	e := &c.Expect
	if n := len(out.Tasks); e.MinTasks != nil && n < *e.MinTasks {
		add("%d tasks, at least %d expected", n, *e.MinTasks)
	}
	if n := len(out.Tasks); e.MaxTasks != nil && n > *e.MaxTasks {
		add("%d tasks, at most %d expected", n, *e.MaxTasks)
	}
	for _, id := range e.Specialists {
		if !slices.ContainsFunc(out.Tasks, func(t events.Task) bool { return t.AssignedTo == id && t.Finished }) {
			add("specialist %s finished no task", id)
		}
	}
	switch {
	case e.MaxCostUSD == nil:
	case out.CostUSD == nil:
		add("the cost is unknown, at most $%g expected", *e.MaxCostUSD)
	case *out.CostUSD > *e.MaxCostUSD:
		add("it cost $%.4f, at most $%g expected", *out.CostUSD, *e.MaxCostUSD)
	}
}
