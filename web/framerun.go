package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

const (
	// framedEvents bounds the threads that are folded for a first look: to read longer ones
	// takes longer than the page's script does to tell of the run.
	framedEvents = 5000
	// framedBytes bounds the text of a first look, several times what is in view.
	framedBytes = 8 << 10
	// framedTexts is how many texts of the document are drawn at first, as in
	// web/src/documentpane.tsx.
	framedTexts = 8
)

// runPageView is the page of a run: the same names as in web/src/runpage.tsx.
type runPageView struct {
	Top                                      topView
	Request, Elapsed, Progress, Tokens, Cost string
	Team, Thread, Models, Tasks, Version     string
	Notice, NoticeTone, Empty, Now           string
	Status                                   statusWord
	Over, Simulated                          bool
	Calls                                    int
	Of                                       *rowOfView
	Texts                                    []textView
}

// textView is the answer, or a text of the document with the headings above it. It is drawn when
// the page is, not while the thread's fold is held, for which its driver may wait.
type textView struct {
	Answer        bool
	Section, Slot string
	source        string
	most          int // bytes of source that are drawn
}

// Text is the source as it is drawn.
func (v textView) Text() template.HTML { return markdownHTML(v.source, v.most) }

func (s *Server) runFrame(r *http.Request) (string, any) {
	ctx := r.Context()
	if !callerOf(ctx).Allow(access.RunsRead) || r.URL.Query().Get("at") != "" {
		return "", nil // a moment of the past is the script's to find
	}
	run, err := s.view(ctx, r.PathValue("run_id"))
	if err != nil || run.LastSeq > framedEvents {
		return "", nil
	}
	server, err := s.getServer(ctx, nil)
	if err != nil {
		return "", nil
	}
	view := runPageOf(run)
	view.Top = topOf(r, server.Body, "true")
	if err := s.addTexts(ctx, run, &view); err != nil {
		return "", nil
	}
	return "run", view
}

// runPageOf is what the run's summary tells.
func runPageOf(run RunView) runPageView {
	tasks := strconv.Itoa(run.FinishedTasks) + "/"
	view := runPageView{
		Request: oneLine(run.Request, 400), Elapsed: clockWords(drivenFor(run)), Progress: tasks + plural(run.Tasks, "task", "tasks"), Tasks: tasks + strconv.Itoa(run.Tasks),
		Tokens: tokenWords(run.Usage.InputTokens + run.Usage.OutputTokens), Cost: moneyWords(run.CostUSD), Team: run.Team,
		Thread: pageLink("threads", string(run.Thread)), Models: oneLine(strings.Join(run.Models, ", "), 40), Status: wordOf(run.Status, run.Interrupted, run.Damaged),
		Over: run.Status.Over(), Simulated: run.Simulated, Calls: run.ModelCalls, Of: rowOf(run.Batch),
		Empty: "Nothing has been written yet. Text appears here as the specialists write it.", Now: "No agent is working.",
	}
	if run.Solo {
		view.Team += ", solo"
	}
	if view.Over {
		view.Empty, view.Now = "Nothing was written.", "The run is over, after "+plural(run.ModelCalls, "model call", "model calls")+"."
	}
	switch {
	case run.Status == events.StatusFailed:
		view.Notice, view.NoticeTone = "Failed: "+run.Reason, "failure"
	case run.Status == events.StatusSuspended || run.Status == events.StatusAwaitingInput || run.Status == events.StatusDegraded || run.Status == events.StatusCancelled:
		view.Notice, view.NoticeTone = run.Reason, "person"
		if view.Notice == "" {
			view.Notice = view.Status.Word
		}
		if run.Status == events.StatusSuspended {
			view.Notice += ". Resume continues where it stopped; no finished model call is repeated."
		}
	case run.Interrupted:
		view.Notice, view.NoticeTone = "Interrupted: its process is gone. Resume continues it; no finished model call is repeated.", "person"
	}
	return view
}

// addTexts adds what the run has written: the answer or, as long as there is none, the document
// from its beginning.
func (s *Server) addTexts(ctx context.Context, run RunView, view *runPageView) error {
	return s.fold(ctx, run.Thread, run.LastSeq, func(th *thread.Thread) error {
		folded := th.Run(run.Run)
		if folded == nil {
			return fmt.Errorf("thread %s has no run %s", run.Thread, run.Run)
		}
		if run.Status == events.StatusFailed && folded.Failure != nil {
			view.Notice = "Failed: " + folded.Failure.Message
		}
		view.Version = "v" + strconv.Itoa(folded.Document.Version())
		if versions := folded.Document.Versions(); len(versions) > 0 {
			view.Version += " " + oneLine(versions[len(versions)-1].Change, 60)
		}
		if answer := folded.FinalAnswer; answer != nil {
			heading := "Answer"
			if answer.Fallback {
				heading += " (the document itself: no model was able to write one)"
			}
			view.Texts = []textView{{Answer: true, Section: heading, source: answer.Content, most: framedBytes}}
			return nil
		}
		view.Texts = textsOf(folded.Document)
		return nil
	})
}

// textsOf are the first texts of a document.
func textsOf(doc *document.Document) (texts []textView) {
	left, section := framedBytes, ""
	for _, place := range doc.Places() {
		slot := doc.Layout().SlotHeading(place)
		for _, entry := range doc.Entries(place) {
			if len(texts) == framedTexts || left <= 0 {
				return texts
			}
			text := textView{Slot: slot, source: entry.Content, most: left}
			if place.Section != section || len(texts) == 0 {
				section, text.Section = place.Section, doc.Layout().SectionTitle(place.Section)
			}
			texts = append(texts, text)
			left, slot = left-len(entry.Content), ""
		}
	}
	return texts
}
