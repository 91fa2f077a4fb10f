package web

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// framedRows are as many as fill what is in view at first; the script has the rest.
const framedRows = 10

// topView is the header of a page.
type topView struct {
	// Here says how the list of runs is the current page.
	Here string
	// Theme is the colours that the reader chose, Sign stands for them.
	Theme, Sign string
	// Who is signed in; nil where nobody can sign out.
	Who *whoView
}

type whoView struct {
	Name, User, Tenant string
	Roles              []roleView
}

// roleView is a role, with words on what it is for where convene knows.
type roleView struct{ Name, Words string }

type listView struct {
	Top topView
	// CanStart is set where the form is shown that starts runs of Teams.
	CanStart bool
	Teams    []TeamInfo
	Search   string
	Choices  []choiceView
	Rows     []rowView
	Empty    string
}

// choiceView is a field that narrows the list, by Value.
type choiceView struct {
	Label, Value string
	// Word stands for the value, or for that there is none.
	Word string
	// Typed is set where the value is not one of several.
	Typed bool
}

// rowView is a run, or a batch in the place of its rows.
type rowView struct {
	at                                 time.Time
	Href, Request, Team, Progress, Ago string
	Status                             statusWord
	Simulated, Batch                   bool
	Tasks, Done                        int
	Facts                              []string
	Reason, ReasonTone                 string
	Of                                 *rowOfView
}

// rowOfView says which row of which batch a run works on.
type rowOfView struct{ Before, Name, Href, Batch string }

func (s *Server) listFrame(r *http.Request) (string, any) {
	ctx := r.Context()
	asked := r.URL.Query()
	if !callerOf(ctx).Allow(access.RunsRead) {
		return "", nil
	}
	filter, ok := narrowedBy(asked, time.Now())
	if !ok {
		return "", nil
	}
	runs, err := s.listRuns(ctx, &listInput{RunFilter: filter, Limit: framedRows})
	if err != nil {
		return "", nil
	}
	server, err := s.getServer(ctx, nil)
	if err != nil {
		return "", nil
	}
	view := listView{Top: topOf(r, server.Body, "page"), Search: asked.Get("q"), Choices: choicesOf(asked)}
	view.CanStart, view.Teams = server.Body.CanStart, server.Body.Teams
	for _, run := range runs.Body.Runs {
		view.Rows = append(view.Rows, runRow(run))
	}
	narrowed := slices.ContainsFunc([]string{"q", "status", "team", "model", "hours", "min_cost"}, func(name string) bool { return asked.Get(name) != "" })
	if !narrowed && asked.Get("rows") == "" {
		if view.Rows, err = s.withBatches(ctx, view.Rows); err != nil {
			return "", nil
		}
	}
	view.Empty = `There are no runs yet. Start one above, or with: convene run "…"`
	if narrowed {
		view.Empty = "No run matches. Change the search or a filter."
	}
	return "list", view
}

// withBatches puts the batches between the runs, newest first.
func (s *Server) withBatches(ctx context.Context, rows []rowView) ([]rowView, error) {
	batches, err := s.listBatches(ctx, &listBatchesInput{Limit: framedRows})
	if err != nil {
		return nil, err
	}
	for _, batch := range batches.Body.Batches {
		rows = append(rows, batchRow(batch))
	}
	slices.SortStableFunc(rows, func(a, b rowView) int { return b.at.Compare(a.at) })
	return rows[:min(len(rows), framedRows)], nil
}

// narrowedBy reads how the page's address narrows the list; ok is false where the API would
// refuse it.
func narrowedBy(asked url.Values, now time.Time) (filter RunFilter, ok bool) {
	filter = RunFilter{Search: asked.Get("q"), Team: asked.Get("team"), Model: asked.Get("model"), Own: asked.Get("rows") == ""}
	if max(len(filter.Search), len(filter.Team), len(filter.Model)) > 200 {
		return filter, false
	}
	if given := asked.Get("status"); given != "" {
		for _, name := range strings.Split(given, ",") {
			if _, known := statusWords[events.Status(name)]; !known {
				return filter, false
			}
			filter.Status = append(filter.Status, events.Status(name))
		}
	}
	if given := asked.Get("min_cost"); given != "" {
		cost, err := strconv.ParseFloat(given, 64)
		if err != nil || cost < 0 || math.IsInf(cost, 0) || math.IsNaN(cost) {
			return filter, false
		}
		filter.Cost = cost
	}
	if given := asked.Get("hours"); given != "" {
		hours, err := strconv.Atoi(given)
		if err != nil || hours < 0 || hours > 1<<20 {
			return filter, false
		}
		if hours > 0 {
			filter.Since = now.Add(-time.Duration(hours) * time.Hour).Truncate(time.Minute)
		}
	}
	return filter, true
}

// choicesOf are the fields beside the search, as the address has them. Of what can be chosen a
// field has what is: to lay out two dozen words that nobody sees yet takes a browser longer than
// ten rows. The script adds the others.
func choicesOf(asked url.Values) []choiceView {
	choice := func(name, label, all string, words map[string]string) choiceView {
		chosen := asked.Get(name)
		word := cmp.Or(words[chosen], oneLine(chosen, 40))
		if chosen == "" {
			word = all
		}
		return choiceView{Label: label, Word: word, Value: chosen}
	}
	statuses := map[string]string{}
	for status, shown := range statusWords {
		statuses[string(status)] = shown.Word
	}
	return []choiceView{
		choice("status", "Status", "all", statuses), choice("team", "Team", "all", nil), {Label: "Model", Word: "any", Typed: true, Value: asked.Get("model")},
		choice("min_cost", "Cost", "any", map[string]string{"0.01": "$0.01 or more", "0.1": "$0.10 or more", "1": "$1 or more", "10": "$10 or more"}),
		choice("hours", "Started", "at any time", map[string]string{"1": "in the last hour", "24": "in the last day", "168": "in the last week", "720": "in the last 30 days"}),
		choice("rows", "Batches", "one line", map[string]string{"1": "every row"}),
	}
}

func topOf(r *http.Request, server ServerView, here string) topView {
	theme := themeOf(r)
	return topView{Here: here, Theme: theme, Sign: map[string]string{"system": "◐", "light": "○", "dark": "●"}[theme], Who: whoOf(server.Caller)}
}

func whoOf(caller CallerView) *whoView {
	if !caller.SignedIn {
		return nil
	}
	tenant := string(caller.Tenant)
	who := whoView{Name: oneLine(cmp.Or(caller.User, tenant), 24), User: oneLine(caller.User, 80), Tenant: oneLine(tenant, 80)}
	for _, role := range caller.Roles {
		who.Roles = append(who.Roles, roleView{oneLine(role, 60), roleWords[role]})
	}
	return &who
}

func runRow(run RunView) rowView {
	status := wordOf(run.Status, run.Interrupted, run.Damaged)
	row := rowView{
		at: run.Start, Href: pageLink("runs", string(run.Run)), Request: oneLine(run.Request, 200), Team: run.Team, Simulated: run.Simulated,
		Status: status, Tasks: run.Tasks, Done: run.FinishedTasks, Ago: agoWords(time.Since(run.Start)),
		Facts:  []string{clockWords(drivenFor(run)), tokenWords(run.Usage.InputTokens + run.Usage.OutputTokens), moneyWords(run.CostUSD)},
		Reason: oneLine(run.Reason, 240), ReasonTone: status.Tone, Of: rowOf(run.Batch),
	}
	if run.Tasks > 0 {
		row.Progress = strconv.Itoa(run.FinishedTasks) + "/" + plural(run.Tasks, "task", "tasks")
	}
	if run.Interrupted {
		row.Reason, row.ReasonTone = "Its process is gone. Resume continues it.", "person"
	}
	if run.Damaged != nil {
		row.Reason, row.ReasonTone = damageWords(run.Damaged), "failure"
		row.Request = cmp.Or(row.Request, lostRequest)
	}
	return row
}

// drivenFor is how long processes have driven a run, up to now while one does.
func drivenFor(run RunView) time.Duration {
	driven := time.Duration(run.DrivenMS) * time.Millisecond
	switch {
	case run.DrivenTo == nil && run.DrivenMS == 0:
		return run.Updated.Sub(run.Start)
	case run.DrivenTo == nil || run.Interrupted || run.Status.Over() || run.Status == events.StatusSuspended || run.Status == events.StatusAwaitingInput:
		return driven
	}
	return driven + max(0, time.Since(*run.DrivenTo))
}

func rowOf(row *events.BatchRow) *rowOfView {
	if row == nil {
		return nil
	}
	before := "row " + oneLine(row.Row, 60)
	if row.Line > 0 {
		before = "line " + strconv.Itoa(row.Line)
	}
	if row.Attempt > 0 {
		before += ", retry " + strconv.Itoa(row.Attempt)
	}
	id := string(row.Batch)
	return &rowOfView{before + " of ", "batch " + oneLine(id[:min(len(id), 13)], 160), pageLink("batches", id), id}
}

func batchRow(batch BatchView) rowView {
	status := wordOf(batch.Status, batch.Interrupted, batch.Damaged)
	going := batch.Status == events.StatusRunning && !batch.Interrupted
	row := rowView{
		at: batch.Start, Href: pageLink("batches", string(batch.Batch)), Request: batchName(batch.BatchSummary), Team: oneLine(batch.Team, 40),
		Simulated: batch.Simulated, Status: status, Batch: true, Progress: rowsDone(batch.BatchSummary), Ago: agoWords(time.Since(batch.Start)),
		Reason: oneLine(batch.Reason, 240), ReasonTone: status.Tone,
	}
	rate, left := "", ""
	if going {
		rate = rateWords(batch.RowsPerSecond)
	}
	switch {
	case going && batch.LeftMS > 0:
		left = clockWords(time.Duration(batch.LeftMS)*time.Millisecond-time.Since(batch.Updated)) + " left"
	case batch.Status.Over():
		left = clockWords(time.Duration(batch.ElapsedMS) * time.Millisecond)
	}
	row.Facts = []string{rate, left, tokenWords(batch.Tokens), moneyWords(batch.CostUSD)}
	if batch.Interrupted {
		row.Reason, row.ReasonTone = "Its process is gone. Run the same command again to continue.", "person"
	}
	if batch.Damaged != nil {
		row.Reason, row.ReasonTone = damageWords(batch.Damaged), "failure"
	}
	return row
}

// batchName is what people call a batch: by its files, or else by its id.
func batchName(s events.BatchSummary) string {
	id := string(s.Batch)
	if s.Input == "" && s.Output == "" {
		return "batch " + id[:min(len(id), 13)]
	}
	name := func(file, dash, none string) string {
		switch file {
		case "-":
			return dash
		case "":
			return none
		}
		return path.Base(strings.ReplaceAll(file, `\`, "/"))
	}
	return oneLine(name(s.Input, "standard input", "rows of a program")+" → "+name(s.Output, "standard output", "a program"), 200)
}

func rowsDone(s events.BatchSummary) string {
	if s.Rows > 0 {
		return countWords(s.Done) + "/" + countWords(s.Rows) + " rows"
	}
	return countWords(s.Done) + " " + map[bool]string{true: "row", false: "rows"}[s.Done == 1]
}

// rateWords is a speed, told by the minute or hour where it is slow.
func rateWords(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fixed(perSecond, 0) + " rows/s"
	case perSecond >= 1:
		return fixed(perSecond, 1) + " rows/s"
	case perSecond*60 >= 1:
		return fixed(perSecond*60, 1) + " rows/min"
	case perSecond > 0:
		return fixed(perSecond*3600, 1) + " rows/h"
	default:
		return "– rows/s"
	}
}
