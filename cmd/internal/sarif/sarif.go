package sarif

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/convene-run/convene/events"
)

// The parts of SARIF that are written; sections of the specification are in brackets.
type (
	document struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}
	run struct { // [3.14]
		Tool        tool         `json:"tool"`
		Invocations []invocation `json:"invocations"`
		Results     []result     `json:"results"`
		ColumnKind  string       `json:"columnKind"`
	}
	tool struct {
		Driver driver `json:"driver"`
	}
	driver struct { // [3.19]
		Name           string `json:"name"`
		Version        string `json:"version"`
		InformationURI string `json:"informationUri"`
		Rules          []rule `json:"rules"`
	}
	rule struct { // [3.49]
		ID string `json:"id"`
	}
	invocation struct { // [3.20]
		ExecutionSuccessful bool           `json:"executionSuccessful"`
		Notifications       []notification `json:"toolExecutionNotifications,omitempty"`
	}
	notification struct { // [3.58]
		Level   string  `json:"level"`
		Message message `json:"message"`
	}
	message struct {
		Text string `json:"text"`
	}
	result struct { // [3.27]
		RuleID     string     `json:"ruleId"`
		RuleIndex  int        `json:"ruleIndex"`
		Level      string     `json:"level"`
		Message    message    `json:"message"`
		Locations  []location `json:"locations,omitempty"`
		Properties properties `json:"properties"`
	}
	location struct { // [3.28]
		Physical physical `json:"physicalLocation"`
	}
	physical struct { // [3.29]
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	artifact struct { // [3.4]
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId"`
	}
	region struct { // [3.30]
		StartLine int      `json:"startLine"`
		EndLine   int      `json:"endLine,omitempty"`
		Snippet   *message `json:"snippet,omitempty"`
	}
	// properties are ours [3.8].
	properties struct {
		Review    string       `json:"review"`
		Run       events.RunID `json:"run,omitempty"`
		Simulated bool         `json:"simulated,omitempty"`
		// Quotes are the passages of files that the finding rests on, each looked up by convene.
		Quotes []quote `json:"quotes,omitempty"`
	}
	quote struct {
		File  string `json:"file,omitempty"`
		Tool  string `json:"tool,omitempty"`
		Quote string `json:"quote"`
	}
)

const (
	schema     = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	home       = "https://github.com/convene-run/convene"
	sourceRoot = "%SRCROOT%" // the root of the repository, wherever it is
)

// Write writes reviews as one document with one run. A review that was not completed, and
// what cannot be said in SARIF, is among the notifications; version is convene's.
func Write(to io.Writer, reviews []Review, version string) error {
	r := run{
		Tool:        tool{driver{Name: "convene", Version: version, InformationURI: home, Rules: []rule{}}},
		Invocations: []invocation{{ExecutionSuccessful: true}}, Results: []result{}, ColumnKind: "unicodeCodePoints",
	}
	rules := map[string]int{}
	for i := range reviews {
		r.add(&reviews[i], rules)
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document{Schema: schema, Version: "2.1.0", Runs: []run{r}})
}

// add adds a review.
func (r *run) add(review *Review, rules map[string]int) {
	if review.Simulated && r.Tool.Driver.Name == "convene" {
		r.Tool.Driver.Name = "convene (simulated)"
		r.note("note", "No real model wrote these findings: they are simulated.")
	}
	if review.Status != events.StatusCompleted {
		r.Invocations[0].ExecutionSuccessful = false
		r.note("error", fmt.Sprintf("The review %s is %s: %s", review.Name, review.Status, review.Reason))
	}
	for i := range review.Findings {
		f := &review.Findings[i]
		id := f.Rule
		if id == "" {
			id = "finding"
		}
		index, known := rules[id]
		if !known {
			index = len(rules)
			rules[id] = index
			r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule{id})
		}
		made := result{
			RuleID: id, RuleIndex: index, Level: f.level(), Message: message{f.Message},
			Properties: properties{Review: review.Name, Run: review.Run, Simulated: review.Simulated, Quotes: quotes(review, i)},
		}
		if name, ok := f.file(); ok {
			made.Locations = []location{{physical{Artifact: artifact{URI: (&url.URL{Path: name}).String(), BaseID: sourceRoot}, Region: f.region()}}}
		} else if f.File != "" {
			r.note("warning", fmt.Sprintf("findings[%d] of the review %s names %q, which is no file of the repository.", i, review.Name, f.File))
		}
		r.Results = append(r.Results, made)
	}
}

func (r *run) note(level, text string) {
	r.Invocations[0].Notifications = append(r.Invocations[0].Notifications, notification{level, message{text}})
}

// region is where in its file the finding is, nil for the whole of it.
func (f *Finding) region() *region {
	if f.Line < 1 {
		return nil
	}
	place := &region{StartLine: f.Line}
	if f.EndLine > f.Line {
		place.EndLine = f.EndLine
	}
	if f.Code != "" {
		place.Snippet = &message{f.Code}
	}
	return place
}

// quotes are the passages that a finding rests on, each once.
func quotes(review *Review, finding int) (list []quote) {
	field, seen := fmt.Sprintf("/findings/%d/code", finding), map[quote]bool{}
	for _, b := range review.Basis {
		if q := (quote{File: b.File, Tool: b.Tool, Quote: b.Quote}); b.Field == field && !seen[q] {
			seen[q] = true
			list = append(list, q)
		}
	}
	return list
}
