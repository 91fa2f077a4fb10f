// Package sarif writes what reviews found as SARIF 2.1.0, the form in which code hosts and
// editors take findings: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
//
// A review is a structured answer with the member "findings": see [Finding].
package sarif

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
)

// Finding is an item of "findings" in an answer. Models write it: nothing in it is trusted.
type Finding struct {
	// Rule names the kind of defect, such as "sql-injection". Defaults to "finding".
	Rule string `json:"rule"`
	// Level is error, warning or note. Defaults to "warning".
	Level   string `json:"level"`
	Message string `json:"message"`
	// File is relative to the root of the repository, with slashes; empty where the finding
	// is about none. Line counts from 1, 0 means the whole file; EndLine defaults to Line.
	File    string `json:"file"`
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	// Code is the passage that the finding is about.
	Code string `json:"code"`
}

// Review is one answer: that of a run, or of a row of a batch.
type Review struct {
	// Name tells it from others in messages: a row's id, or a run's.
	Name      string
	Status    events.Status
	Simulated bool
	Run       events.RunID
	// Reason says why Status is not "completed".
	Reason   string
	Findings []Finding
	// Basis are the passages that the answer rests on.
	Basis []evidence.Basis
}

// Read takes the findings out of an answer. An answer without any says so with an empty
// list; one that has none is an error.
func Read(answer []byte) ([]Finding, error) {
	var data struct {
		Findings *[]Finding `json:"findings"`
	}
	if err := json.Unmarshal(answer, &data); err != nil {
		return nil, fmt.Errorf("its findings cannot be read: %w", err)
	}
	if data.Findings == nil {
		return nil, errors.New(`its answer has no "findings"; a team whose answer_schema has them writes them`)
	}
	for i, f := range *data.Findings {
		if strings.TrimSpace(f.Message) == "" {
			return nil, fmt.Errorf("findings[%d] has no message", i)
		}
	}
	return *data.Findings, nil
}

// level gives the level, the default for a word that SARIF does not have.
func (f *Finding) level() string {
	switch f.Level {
	case "error", "note":
		return f.Level
	}
	return "warning"
}

// file gives the path within the repository; ok is false where it is none, or leads out.
func (f *Finding) file() (name string, ok bool) {
	name = path.Clean(strings.ReplaceAll(f.File, `\`, "/"))
	switch {
	case f.File == "", name == ".", name == "..", path.IsAbs(name), strings.HasPrefix(name, "../"), strings.ContainsRune(name, 0):
		return "", false
	}
	return name, true
}
