package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// chat is a thread that is talked to over HTTP.
type chat struct {
	t      testing.TB
	server *served
	thread events.ThreadID
}

func newChat(t testing.TB, server *served) *chat {
	return &chat{t, server, events.ThreadID(uuid.NewString())}
}

func (c *chat) path(rest string) string { return "/api/v1/threads/" + string(c.thread) + rest }

// call sends a request about the thread and reads its answer into out, if that is given.
func (c *chat) call(method, rest, body string, status int, out any) http.Header {
	c.t.Helper()
	got, header, answer := c.server.do(c.t, method, c.path(rest), body)
	require.Equal(c.t, status, got, answer)
	if out != nil {
		require.NoError(c.t, json.Unmarshal([]byte(answer), out), answer)
	}
	return header
}

// say sends a message, whose further members are as given, and gives the receipt.
func (c *chat) say(content string, members ...string) (receipt web.Receipt) {
	c.t.Helper()
	c.call(http.MethodPost, "/messages", message(content, members...), http.StatusAccepted, &receipt)
	return receipt
}

func message(content string, members ...string) string {
	text, _ := json.Marshal(content)
	return "{" + strings.Join(append([]string{`"content":` + string(text)}, members...), ",") + "}"
}

// context is where the thread stands.
func (c *chat) context() (view web.ThreadView) {
	c.t.Helper()
	c.call(http.MethodGet, "", "", http.StatusOK, &view)
	return view
}

// rests waits until nobody works on the thread any more, and gives where it stands.
func (c *chat) rests() web.ThreadView {
	c.t.Helper()
	var view web.ThreadView
	require.Eventually(c.t, func() bool {
		view = c.context()
		return (view.Status.Over() || view.Status == events.StatusAwaitingInput || view.Status == events.StatusSuspended) && len(view.Queued) == 0
	}, time.Minute, 10*time.Millisecond)
	return view
}

type messagePage struct {
	Messages []thread.Message
	More     bool
}

func (c *chat) messages(query string) (page messagePage) {
	c.t.Helper()
	c.call(http.MethodGet, "/messages"+query, "", http.StatusOK, &page)
	return page
}

// Proves R33, R34, R64: a conversation over HTTP alone, with its handoff, its steps, its
// messages in pages, and its way back.
func TestConversationOverHTTP(t *testing.T) {
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	c := newChat(t, server)
	receipt := c.say("Please create a skill that sends Slack alerts", `"team":"skill-builder"`, `"message_id":"m1"`,
		`"user_id":"ann"`, `"channel_type":"web"`, `"channel_id":"w1"`, `"metadata":{"intent":"skill","n":12345678901234567890}`)
	require.Equal(t, web.Receipt{Thread: c.thread, Message: "m1", Delivery: events.DeliveryStart, Run: receipt.Run}, receipt)
	view := c.rests()
	require.Equal(t, events.StatusCompleted, view.Status)
	require.Equal(t, events.AgentID("skill_builder"), view.Agent)
	require.Equal(t, "Skill Creation Assistant", view.DisplayName)
	require.Equal(t, "h1", string(view.Handoff.ID))
	require.Equal(t, []int{1, 5}, []int{view.Workflow.Step, view.Workflow.Steps})
	require.Equal(t, 1, view.Context.Handoffs)
	sent, err := log.Read(t.Context(), events.ThreadKey{Tenant: events.LocalTenant, Thread: c.thread}, 0, 1)
	require.NoError(t, err)
	require.JSONEq(t, `{"intent":"skill","n":12345678901234567890}`, string(sent[0].Data.(events.UserMessage).Metadata))

	var again web.Receipt
	c.call(http.MethodPost, "/messages", message("Please create a skill", `"message_id":"m1"`), http.StatusOK, &again)
	require.True(t, again.Duplicate)
	require.Equal(t, receipt.Run, again.Run)
	require.Len(t, c.context().Runs, 1)

	for i := range 3 {
		c.say(fmt.Sprint("Answer ", i))
		view = c.rests()
		require.Equal(t, i+2, view.Workflow.Step, "no team is named: that of the thread answers")
	}
	all := c.messages("?after=0&limit=500")
	require.False(t, all.More)
	require.Len(t, all.Messages, view.Context.Messages)
	require.Equal(t, "Please create a skill that sends Slack alerts", all.Messages[0].Content)
	require.Equal(t, "ann", all.Messages[0].UserID)
	require.Equal(t, receipt.Run, all.Messages[0].Run)
	last := all.Messages[len(all.Messages)-1]
	require.Equal(t, []any{events.RoleAssistant, "Skill Creation Assistant"}, []any{last.Role, last.DisplayName})

	newest := c.messages("?limit=3")
	require.Equal(t, all.Messages[len(all.Messages)-3:], newest.Messages)
	require.True(t, newest.More)
	var back []thread.Message
	for page := newest; ; page = c.messages(fmt.Sprintf("?limit=3&before=%d", page.Messages[0].Seq)) {
		back = append(append([]thread.Message{}, page.Messages...), back...)
		if !page.More {
			break
		}
	}
	require.Equal(t, all.Messages, back)
	require.True(t, c.messages("?after=0&limit=2").More)
	require.Empty(t, c.messages("?before=1").Messages)

	c.call(http.MethodDelete, "/handoff?user_id=ann", "", http.StatusAccepted, nil)
	view = c.rests()
	require.Equal(t, events.FacilitatorID, view.Agent)
	require.Nil(t, view.Handoff)
	c.call(http.MethodDelete, "/handoff", "", http.StatusConflict, nil)
	after := c.messages(fmt.Sprintf("?after=%d", last.Seq)).Messages
	require.NotEmpty(t, after, "the facilitator says so")
	require.Equal(t, events.FacilitatorID, after[len(after)-1].Agent)

	var handed map[string]string
	c.call(http.MethodPost, "/handoff", `{"target":"skill_builder","reason":"go on","summary":"Slack alerts"}`, http.StatusAccepted, &handed)
	require.Equal(t, map[string]string{"handoff_id": "h2"}, handed)
	view = c.rests()
	require.Equal(t, events.AgentID("skill_builder"), view.Agent)
}

// Proves R64: what cannot be done with a thread is refused with words, and what would be
// accepted.
func TestThreadsRefuseWithWords(t *testing.T) {
	log := events.NewMemory()
	runs := newSimRuns(t, log, sim.Options{FirstToken: 1 << 40})
	server := serve(t, web.Config{Log: log, Runs: runs})
	busy := newChat(t, server)
	busy.say("Hello", `"team":"skill-builder"`)
	s := newScript(t, log)
	s.start("a quiet thread")
	s.add(events.WorkflowFinished{Status: events.StatusCompleted})
	batch := newScript(t, log)
	batch.run = ""
	batch.add(events.BatchStarted{})

	unknown := "/api/v1/threads/" + uuid.NewString()
	quiet, ofBatch := "/api/v1/threads/"+string(s.key.Thread), "/api/v1/threads/"+string(batch.key.Thread)
	handoff := `{"target":"x","reason":"y","summary":"z"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/api/v1/threads/abc/messages", message("x"), 422, "UUID"},
		{"POST", "/api/v1/threads/6ba7b810-9dad-11d1-80b4-00c04fd430c8/messages", message("x"), 422, "version 4"},
		{"POST", unknown + "/messages", message(strings.Repeat("x", 5<<20)), 413, "has 5242880 characters; at most 1048576 are taken"},
		{"POST", unknown + "/messages", message(strings.Repeat("x", 17<<20)), 413, "limit"},
		{"POST", unknown + "/messages", message(" \n"), 422, "empty"},
		{"POST", unknown + "/messages", message("x", `"team":"/etc/passwd"`), 422, "team"},
		{"POST", unknown + "/messages", message("x", `"delivery":"soon"`), 422, "delivery"},
		{"POST", unknown + "/messages", message("x", `"delivery":"answer"`), 409, "nothing was asked"},
		{"POST", unknown + "/messages", message("x", `"metadata":["a"]`), 422, "metadata"},
		{"POST", unknown + "/messages", message("x", `"metadata":{"a":"`+strings.Repeat("x", 70<<10)+`"}`), 422, "metadata has"},
		{"POST", busy.path("/messages"), message("x", `"delivery":"start"`), 409, "under way"},
		{"POST", busy.path("/messages"), message("x", `"delivery":"answer"`), 409, "nothing was asked"},
		{"POST", busy.path("/messages"), message("x", `"input_id":"i1"`), 409, "ordinary message"},
		{"POST", busy.path("/messages"), message("x", `"input_id":"i1","delivery":"steer"`), 422, "answer"},
		{"POST", busy.path("/handoff"), handoff, 409, "under way"},
		{"DELETE", busy.path("/handoff"), "", 409, "no handoff is active"},
		{"POST", unknown + "/handoff", handoff, 404, "there is no thread"},
		{"DELETE", unknown + "/handoff", "", 404, "there is no thread"},
		{"GET", unknown + "/messages", "", 404, "there is no thread"},
		{"GET", unknown, "", 404, "there is no thread"},
		{"GET", ofBatch + "/messages", "", 404, "batch"},
		{"POST", ofBatch + "/handoff", handoff, 404, "batch"},
		{"GET", quiet + "/messages?after=1&before=2", "", 422, "together"},
		{"GET", "/api/v1/threads?cursor=x", "", 422, "cursor"},
		{"GET", "/api/v1/threads?cursor=waiting:", "", 422, "cursor"},
		{"GET", "/api/v1/threads?waiting=nobody", "", 422, "waiting"},
	} {
		status, header, body := server.do(t, c.method, c.path, c.body)
		name := fmt.Sprintf("%s %.90s %.60s", c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s: %.300s", name, body)
		require.Contains(t, problem(t, header, body), c.words, name)
	}

	for i := range 32 {
		require.Equal(t, i+1, busy.say(fmt.Sprint("more ", i), fmt.Sprintf(`"message_id":"q%d"`, i)).Place)
	}
	var again web.Receipt
	busy.call(http.MethodPost, "/messages", message("again", `"message_id":"q2"`), http.StatusOK, &again)
	require.Equal(t, web.Receipt{Thread: busy.thread, Message: "q2", Delivery: events.DeliveryQueue, Place: 3, Duplicate: true}, again)
	header := busy.call(http.MethodPost, "/messages", message("too many"), http.StatusTooManyRequests, nil)
	require.NotEmpty(t, header.Get("Retry-After"))
	require.Len(t, busy.context().Queued, 32)
	require.Equal(t, events.DeliverySteer, busy.say("Hurry", `"delivery":"steer"`).Delivery, "it waits in no queue")

	reader := serve(t, web.Config{Log: log})
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		path := quiet + "/handoff"
		status, header, body := reader.do(t, method, path, handoff)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, problem(t, header, body), "convene serve")
	}
}

// A listing has the threads that wait for a person first, and each of them once over its pages.
func TestListOfThreads(t *testing.T) {
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log})
	list := func(query string) (titles []string, next string) {
		status, _, body := server.get(t, "/api/v1/threads"+query)
		require.Equal(t, http.StatusOK, status, body)
		var page struct {
			Threads []web.ThreadLine
			Next    string
		}
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		for _, line := range page.Threads {
			titles = append(titles, line.Title)
			require.NotNil(t, line.Asks)
		}
		return titles, page.Next
	}
	titles, _ := list("")
	require.Empty(t, titles)
	for i := range 6 {
		s := newScript(t, log)
		s.start(fmt.Sprint("thread ", i))
		switch i {
		case 1, 4:
			kind := events.InputHuman
			if i == 4 {
				kind = events.InputQuestion
			}
			s.add(events.InputRequested{InputID: "i1", For: kind, Question: "Which?"}, events.RunSuspended{AwaitingInput: true})
		case 2:
			s.add(events.WorkflowFinished{Status: events.StatusCompleted})
			id, err := uuid.NewV7()
			require.NoError(t, err)
			s.run = events.RunID(id.String())
			s.start("its second message")
		}
	}
	want := []string{"thread 4", "thread 1", "thread 5", "thread 3", "thread 2", "thread 0"}
	titles, next := list("")
	require.Equal(t, want, titles)
	require.Empty(t, next)
	for limit := 1; limit < 7; limit++ {
		var all []string
		query := fmt.Sprintf("?limit=%d", limit)
		for cursor := ""; ; {
			page, next := list(query + cursor)
			all = append(all, page...)
			if cursor = "&cursor=" + next; next == "" {
				break
			}
		}
		require.Equal(t, want, all, limit)
	}
	titles, _ = list("?waiting=human")
	require.Equal(t, []string{"thread 1"}, titles)
	titles, _ = list("?waiting=question")
	require.Equal(t, []string{"thread 4"}, titles)
	titles, _ = list("?status=awaiting_input")
	require.Equal(t, want[:2], titles)
	titles, _ = list("?search=second")
	require.Equal(t, []string{"thread 2"}, titles, "its title is what it began with")
}

// Proves R33, R64: while a specialist has the conversation its words come as it writes them,
// under its name, and marked as what the user reads.
func TestTokensOfWhoeverSpeaks(t *testing.T) {
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{PerChunk: 20 * time.Millisecond})})
	c := newChat(t, server)
	c.say("Hello", `"team":"skill-builder"`)
	conn := server.dial(t, c.thread, 0) // one that is open before the specialist writes
	c.rests()
	c.say("Please create a skill that sends Slack alerts")
	for {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, text, err := conn.ReadMessage()
		require.NoError(t, err, "the specialist was never seen to write")
		var live struct {
			Lossy  bool
			Agents []web.LiveAgent
		}
		if json.Unmarshal(text, &live) != nil || !live.Lossy {
			continue
		}
		for _, a := range live.Agents {
			require.True(t, a.Speaks, a.Agent)
			if a.DisplayName == "Skill Creation Assistant" && len(a.Stream) > 0 && !a.Stream[0].InCall {
				return
			}
		}
	}
}

// Every member of what is sent to a thread has an example in the OpenAPI document.
func TestMessagesAreDescribed(t *testing.T) {
	server := serve(t, web.Config{Log: events.NewMemory()})
	_, _, body := server.get(t, "/api/v1/openapi.json")
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
			Responses map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Examples []any }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	for path, statuses := range map[string][]string{
		"/api/v1/threads/{thread_id}/messages": {"200", "202", "409", "413", "422", "429"},
		"/api/v1/threads/{thread_id}/handoff":  {"202", "403", "409", "422"},
	} {
		post := doc.Paths[path]["post"]
		for _, status := range statuses {
			require.Contains(t, post.Responses, status, path)
		}
		ref := post.RequestBody.Content["application/json"].Schema.Ref
		schema := doc.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]]
		require.NotEmpty(t, schema.Properties, path)
		for name, property := range schema.Properties {
			require.NotEmpty(t, property.Examples, "%s %s", path, name)
		}
	}
}
