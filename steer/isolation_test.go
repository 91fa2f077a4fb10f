package steer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/steer"
	"github.com/convene-run/convene/webhook"
)

// person is a user with what is theirs.
type person struct {
	tenant, user, token string
	// mark is in everything that they say.
	mark    string
	threads []string
	runs    []string
	// batch is their tenant's, which is nobody's.
	batch string
}

// operation is a door of the API, as its description has it, or a tool of the MCP server.
type operation struct{ method, path, tool string }

func operations(t *testing.T, d *doors, token string) (all []operation) {
	_, _, text := d.call(t, token, http.MethodGet, "/api/v1/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	for path, methods := range doc.Paths {
		for method := range methods {
			all = append(all, operation{strings.ToUpper(method), path, ""})
		}
	}
	for _, path := range []string{"/ws", "/metrics", "/", "/app.js", "/login", "/api/v1/none", "/api/v1/runs/{run_id}/export?format=html", "/api/v1/runs/{run_id}/export?format=jsonl"} {
		all = append(all, operation{http.MethodGet, path, ""})
	}
	for _, tool := range []string{"get_run", "list_events", "cancel_run", "run_team"} {
		all = append(all, operation{http.MethodPost, "/mcp", tool})
	}
	require.Greater(t, len(all), 20)
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method+a.tool, b.path+b.method+b.tool) })
	return all
}

// request fills an operation with ids of somebody's.
func (o operation) request(who *person, thread, run, batch string) (path, body string) {
	path = strings.NewReplacer("{thread_id}", thread, "{run_id}", run, "{batch_id}", batch, "{artifact_id}", strings.Repeat("a", 64)).Replace(o.path)
	query := url.Values{}
	switch {
	case o.tool == "run_team": // answers what the run asks
		body = fmt.Sprintf(`{"name":"run_team","arguments":{"request":%q},"requestState":%q,"inputResponses":{"i1":{"action":"accept","content":{"answer":%q}}},`, who.mark, run, who.mark)
	case o.tool != "":
		body = fmt.Sprintf(`{"name":%q,"arguments":{"run_id":%q},`, o.tool, run)
	case o.path == "/ws":
		query.Set("thread_id", thread)
	case o.method == http.MethodGet && o.path == "/api/v1/runs", o.path == "/api/v1/runs/totals":
		query.Set("thread_id", thread)
	case o.method == http.MethodPost && o.path == "/api/v1/runs":
		body = fmt.Sprintf(`{"request":%q,"solo":true,"thread_id":%q}`, who.mark, thread)
	case strings.HasSuffix(o.path, "/fork"):
		body = `{"at":1}`
	case o.method == http.MethodPost && strings.HasSuffix(o.path, "/messages"):
		body = fmt.Sprintf(`{"content":%q}`, who.mark)
	case o.method == http.MethodPost && strings.HasSuffix(o.path, "/handoff"):
		body = `{"target":"x","reason":"y","summary":"z"}`
	}
	if o.tool != "" {
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + body +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, body
}

// begins reports whether the operation begins a thread that is not there.
func (o operation) begins() bool {
	return o.method == http.MethodPost && (o.path == "/api/v1/runs" || strings.HasSuffix(o.path, "/messages"))
}

// settled gives people with runs, threads and batches of their own: two tenants, three users.
// Ann and Cat have a thread of the same id.
func settled(t *testing.T, d *doors) []*person {
	same := uuid.NewString()
	people := []*person{{tenant: "acme", user: "ann"}, {tenant: "acme", user: "bob"}, {tenant: "globex", user: "cat"}}
	batches := map[string]string{}
	for _, p := range people {
		p.mark = "Secret of " + p.tenant + " " + p.user
		p.token = d.token(t, p.tenant, p.user, access.RoleUser)
		for i := range 2 {
			thread := uuid.NewString()
			if i == 0 && p.user != "bob" {
				thread = same
			}
			status, _, text := d.call(t, p.token, http.MethodPost, "/api/v1/runs", fmt.Sprintf(`{"request":%q,"solo":true,"thread_id":%q}`, p.mark, thread))
			require.Equal(t, http.StatusCreated, status, text)
			var started struct {
				Run string `json:"run_id"`
			}
			require.NoError(t, json.Unmarshal([]byte(text), &started))
			p.threads, p.runs = append(p.threads, thread), append(p.runs, started.Run)
		}
		if batches[p.tenant] == "" {
			batches[p.tenant] = uuid.NewString()
			key := events.ThreadKey{Tenant: events.TenantID(p.tenant), Thread: events.ThreadID(batches[p.tenant])}
			epoch, err := d.log.Claim(t.Context(), key, "operator", false)
			require.NoError(t, err)
			require.NoError(t, d.log.Append(t.Context(), key, epoch, 0, []events.Envelope{{Data: events.BatchStarted{Input: "Secret of " + p.tenant + " rows.jsonl", Team: "trip"}}}))
		}
		p.batch = batches[p.tenant]
	}
	d.settle(t)
	return people
}

// Proves R60: whatever users call, by whatever door, they read and change what is theirs alone,
// and an id of somebody else's is answered as one that there is not.
func TestNobodyReachesOthers(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{})
	people := settled(t, d)
	all := operations(t, d, people[0].token)
	rapid.Check(t, func(rt *rapid.T) {
		who := rapid.SampledFrom(people).Draw(rt, "who")
		other := rapid.SampledFrom(people).Filter(func(p *person) bool { return p != who }).Draw(rt, "other")
		o := rapid.SampledFrom(all).Draw(rt, "operation")
		if o.begins() && who.tenant != other.tenant {
			return // a tenant's ids are its own, as Ann's and Cat's thread shows
		}
		thread, run := other.threads[1], rapid.SampledFrom(other.runs).Draw(rt, "run")
		cut := rapid.SampledFrom([]int{0, 0, 1, 9, 28}).Draw(rt, "cut")
		tip, err := d.log.Last(t.Context(), events.ThreadKey{Tenant: events.TenantID(other.tenant), Thread: events.ThreadID(thread)})
		require.NoError(rt, err)

		path, body := o.request(who, thread, run[:len(run)-cut], other.batch[:len(other.batch)-cut])
		status, header, text := d.call(rt, who.token, o.method, path, body)
		require.NotContains(rt, text, other.mark, "%s %s", o.method, path)
		require.NotContains(rt, text, "rows.jsonl")
		for _, theirs := range slices.Concat(other.threads[1:], other.runs) {
			require.NotContains(rt, strings.NewReplacer(thread, "", run, "", other.batch, "").Replace(text), theirs)
		}
		d.settle(t)
		again, err := d.log.Last(t.Context(), events.ThreadKey{Tenant: events.TenantID(other.tenant), Thread: events.ThreadID(thread)})
		require.NoError(rt, err)
		require.Equal(rt, tip, again, "%s %s wrote", o.method, path)
		if o.begins() { // the id is taken, which is all that is told
			require.Equal(rt, http.StatusNotFound, status, text)
			return
		}
		nowhere, never := uuid.NewString(), strings.Repeat("0", 8)+uuid.NewString()[8:]
		path, body = o.request(who, nowhere, never[:len(never)-cut], nowhere[:len(nowhere)-cut])
		status2, header2, text2 := d.call(rt, who.token, o.method, path, body)
		require.Equal(rt, status2, status, text)
		require.Equal(rt, header2.Get("Content-Type"), header.Get("Content-Type"))
		without := strings.NewReplacer(thread, "ID", other.batch, "ID", run[:len(run)-cut], "ID", other.batch[:len(other.batch)-cut], "ID",
			nowhere, "ID", nowhere[:len(nowhere)-cut], "ID", never[:len(never)-cut], "ID")
		if !slices.Contains([]string{"/", "/api/v1/server", "/metrics"}, o.path) { // they tell the time
			require.Equal(rt, without.Replace(text2), without.Replace(text), "%s %s", o.method, path)
		}
	})
}

// A receiver of a tenant's events is sent none of another tenant's, not even of a thread that
// has the same id there.
func TestWebhooksAreOfTheirTenants(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{})
	bodies := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer receiver.Close()
	sender, err := webhook.New(webhook.Config{Log: d.log, Receivers: []webhook.Receiver{{
		URL: receiver.URL, PrivateHost: "127.0.0.1", Secrets: []string{"whsec_" + strings.Repeat("MfKQ", 10)}, Tenants: []events.TenantID{"acme"}, Kinds: []events.Kind{events.KindWorkflowStarted},
	}}})
	require.NoError(t, err)
	require.NoError(t, sender.Start(t.Context()))
	defer sender.Stop()
	people := settled(t, d)
	_, _, text := d.call(t, people[0].token, http.MethodPost, "/api/v1/runs", `{"request":"the last one","solo":true}`)
	require.Contains(t, text, "run_id")
	d.settle(t)
	for seen := ""; !strings.Contains(seen, "the last one"); {
		seen = <-bodies
		require.Contains(t, seen, `"tenant_id":"acme"`)
		require.NotContains(t, seen, people[2].mark)
	}
}

// Everybody counts, lists and finds their own runs, and no others.
func TestListsAreOnesOwn(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{})
	for _, p := range settled(t, d) {
		_, _, text := d.call(t, p.token, http.MethodGet, "/api/v1/runs/totals", "")
		require.Contains(t, text, `"runs":2,`)
		for _, path := range []string{"/api/v1/runs?search=secret", "/api/v1/threads?search=secret"} {
			_, _, text = d.call(t, p.token, http.MethodGet, path, "")
			require.Equal(t, strings.Count(text, "Secret of "), strings.Count(text, p.mark), text)
			require.Contains(t, text, p.mark)
		}
		_, _, text = d.call(t, p.token, http.MethodGet, "/api/v1/batches", "")
		require.JSONEq(t, `{"batches":[],"more":false}`, text)
		operator := d.token(t, p.tenant, "", access.RoleOperator)
		_, _, text = d.call(t, operator, http.MethodGet, "/api/v1/batches", "")
		require.Contains(t, text, p.batch)
	}
}

// A token that is revoked ends the streams that it opened: no event comes behind that.
func TestRevokedInMidStream(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{})
	people := settled(t, d)
	ann := people[0]
	header := http.Header{"Authorization": {"Bearer " + ann.token}}
	socket, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(d.url, "http")+"/ws?thread_id="+ann.threads[1], header)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	defer socket.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/api/v1/threads/"+ann.threads[1]+"/events", nil)
	require.NoError(t, err)
	request.Header = header
	stream, err := patient.Do(request)
	require.NoError(t, err)
	defer stream.Body.Close()
	_, message, err := socket.ReadMessage()
	require.NoError(t, err)
	require.Contains(t, string(message), ann.mark)

	id, _, _ := strings.Cut(strings.TrimPrefix(ann.token, "cvn_"), "_")
	_, err = access.Revoke(d.file, id)
	require.NoError(t, err)
	operator := d.token(t, ann.tenant, "", access.RoleOperator)
	status, _, text := d.call(t, operator, http.MethodPost, "/api/v1/threads/"+ann.threads[1]+"/messages", `{"content":"said behind her back"}`)
	require.Equal(t, http.StatusAccepted, status, text)
	for err == nil {
		_, message, err = socket.ReadMessage()
		require.NotContains(t, string(message), "behind her back")
	}
	require.True(t, websocket.IsCloseError(err, websocket.ClosePolicyViolation), "%v", err)
	all, err := io.ReadAll(stream.Body)
	require.NoError(t, err, "the answer ends")
	require.Contains(t, string(all), ann.mark)
	require.NotContains(t, string(all), "behind her back")
	status, _, _ = d.call(t, ann.token, http.MethodGet, "/api/v1/runs", "")
	require.Equal(t, http.StatusUnauthorized, status)
}
