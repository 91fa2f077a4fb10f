package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// framedTags and framedAttributes are all that the server may draw; href is looked at apart.
var (
	framedTags = strings.Fields("a header nav span details summary div p ul li b button kbd main h1 h2 h3 h4 h5 h6 form label textarea select option input section " +
		"article time em strong progress table thead tbody tr th td ol blockquote hr pre code del br")
	framedAttributes = strings.Fields("class id tabindex aria-label aria-labelledby aria-hidden aria-current aria-keyshortcuts title role type disabled name rows required " +
		"placeholder value selected autocomplete spellcheck maxlength max hidden dir start scope data-search target rel")
	framedLink = regexp.MustCompile(`^(#main|/((runs|threads|batches)(/[^/?#]+)?|compare)?|(https?|mailto):.*)$`)
)

// frameOf gives what stands in the page's frame and, as opening tags, what stands around it.
func frameOf(t *testing.T, body string) (frame *html.Node, around []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	require.NoError(t, err)
	var walk func(node *html.Node)
	walk = func(node *html.Node) {
		if node.Type == html.ElementNode {
			around = append(around, fmt.Sprint(node.Data, node.Attr))
			if len(node.Attr) > 0 && node.Attr[0].Key == "id" && node.Attr[0].Val == "app" {
				frame = node
				return
			}
		}
		for child := range node.ChildNodes() {
			walk(child)
		}
	}
	walk(doc)
	require.NotNil(t, frame)
	return frame, around
}

// strange lists what the server may not draw.
func strange(frame *html.Node) (found []string) {
	for node := range frame.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if node.Namespace != "" || !slices.Contains(framedTags, node.Data) {
			found = append(found, "element "+node.Data)
		}
		for _, a := range node.Attr {
			if ok := a.Key == "href" && node.Data == "a" && framedLink.MatchString(a.Val); !ok && !slices.Contains(framedAttributes, a.Key) {
				found = append(found, fmt.Sprintf("attribute %s=%q of %s", a.Key, a.Val, node.Data))
			}
		}
	}
	return found
}

// printed is a text without what titles may not have.
func printed(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
}

// framedRun is one that the server can fold: of two texts, the vector and one in which it stands
// in every kind of Markdown, and that is suspended with an answer like that or failed without.
func framedRun(t *testing.T, vector string, answered bool) []events.Envelope {
	t.Helper()
	start := poisoned(t, events.KindWorkflowStarted, vector, true).(events.WorkflowStarted)
	start.Continues, start.Follows, start.Config, start.ForkedFrom, start.TasksBefore, start.FinishedBefore = "", "", nil, nil, 0, 0
	start.Layout = asJSON(t, map[string]any{"kind": "sections", "sections": []any{map[string]any{"id": "a", "title": printed(vector), "slots": []any{"x", "y"}}}})
	last := written(t, vector)[2].(events.DocumentUpdated).Content
	facts := []events.Event{start}
	for i, content := range []string{vector, last} {
		facts = append(facts, events.DocumentUpdated{Version: i + 1, EntryID: events.EntryID(i + 1), Section: "a", Slot: "x", Content: content, ChangeDescription: vector})
	}
	if answered {
		facts = append(facts, events.FinalAnswer{Content: last}, events.RunSuspended{Reason: vector})
	} else {
		facts = append(facts, events.Error{Message: vector}, events.WorkflowFinished{Status: events.StatusFailed, Reason: vector})
	}
	envs := make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i] = events.Envelope{Run: events.RunID(vector), Agent: events.AgentID(vector), Dispatch: events.DispatchID(vector), Data: fact}
	}
	return envs
}

// Proves R71: whatever texts a log has, what the server draws of them has elements and
// attributes of a fixed set, leads to places of the page and to the web, and stays in its frame.
func TestFramesOfHostileTexts(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	for i, vector := range hostile() {
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(vector)}
		epoch, err := log.Claim(t.Context(), key, "test", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(t.Context(), key, epoch, 0, framedRun(t, vector, i%2 == 0)))
	}
	server := serve(t, web.Config{Log: log, Runs: hostileServer{}, Version: hostile()[0]})
	around := func(address string) []string {
		_, _, body := server.get(t, address)
		_, around := frameOf(t, body)
		return around
	}
	aroundRuns, aroundLists := around("/threads"), around("/?status=none")
	look := func(address string, around []string, drawn ...string) {
		status, _, body := server.get(t, address)
		require.Equal(t, http.StatusOK, status)
		frame, now := frameOf(t, body)
		for _, part := range drawn {
			require.True(t, strings.Contains(body, part), "%s: no %s", address, part)
		}
		require.Empty(t, strange(frame), address)
		require.Equal(t, around, now, address)
	}
	for i, vector := range hostile() {
		look("/runs/"+url.PathEscape(vector), aroundRuns, []string{`<article class="answer"`, `<div class="entry">`}[i%2], []string{`<p class="notice person">`, `<p class="notice failure">Failed: `}[i%2])
		asked := url.QueryEscape(vector)
		look("/?q="+asked+"&team="+asked+"&model="+asked+"&rows="+asked, aroundLists, `<main id="main"`)
	}
	look("/?rows=1", aroundLists, `<ul class="runs"`)
}

// Proves R62 of the page: what the server draws first tells nobody of a run who may not read it,
// and whether there is one neither.
func TestFramesAreForWhoMayRead(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Ann's own business", Team: "trip", UserID: "ann"}, events.FinalAnswer{Content: "Ann's answer"},
		events.WorkflowFinished{Status: events.StatusCompleted})
	file := filepath.Join(t.TempDir(), "tokens.json")
	tokens, err := access.Open(file, access.Builtin())
	require.NoError(t, err)
	server := serve(t, web.Config{Log: log, Keeper: tokens})
	run, none := "/runs/"+string(s.run), "/runs/"+strings.Repeat("0", len(s.run))
	for _, c := range []struct {
		who   access.Token
		reads bool
	}{
		{access.Token{Tenant: "local", User: "ann", Roles: []string{access.RoleUser}}, true},
		{access.Token{Tenant: "local", User: "vic", Roles: []string{access.RoleViewer}}, true},
		{access.Token{Tenant: "local", User: "bob", Roles: []string{access.RoleUser}}, false},
		{access.Token{Tenant: "local", User: "ann", Roles: []string{access.RoleMonitor}}, false},
		{access.Token{Tenant: "other", User: "ann", Roles: []string{access.RoleAdmin}}, false},
	} {
		token, _, err := access.Add(file, access.Builtin(), c.who)
		require.NoError(t, err)
		get := func(address string) string {
			status, header, body := server.get(t, address, "Authorization", "Bearer "+token, "Accept", "text/html")
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "no-store", header.Get("Cache-Control"))
			return body
		}
		list, page := get("/"), get(run)
		require.Equal(t, c.reads, strings.Contains(list, "Ann&#39;s own business"), c.who)
		require.Equal(t, c.reads, strings.Contains(page, "Ann&#39;s answer"), c.who)
		if !c.reads {
			require.NotContains(t, list+page, "Ann&#39;s")
			require.NotContains(t, list+page, "Ann's")
			require.Equal(t, get(none), page, "whether there is such a run")
		}
	}
	for _, address := range []string{"/", run} {
		status, _, body := server.get(t, address, "Accept", "text/html")
		require.Equal(t, http.StatusUnauthorized, status)
		require.NotContains(t, body, "Ann")
		require.Contains(t, body, "This browser is not signed in")
	}
}
