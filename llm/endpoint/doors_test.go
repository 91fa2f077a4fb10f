package endpoint_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
)

// The replies of the three APIs, each saying which it is.
var replies = map[string]string{
	"/chat/completions": "data: {\"choices\":[{\"delta\":{\"content\":\"chat\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	"/responses": "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"responses\"}\n\n" +
		"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
	"/messages": "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"messages\"}}\n\n" +
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
}

// house offers some APIs at some paths and remembers which were tried.
type house struct {
	*httptest.Server
	mu    sync.Mutex
	tried []string
	key   http.Header
}

func open(t *testing.T, answers map[string]func(w http.ResponseWriter)) *house {
	h := &house{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.mu.Lock()
		h.tried, h.key = append(h.tried, r.URL.Path), r.Header
		h.mu.Unlock()
		if answer := answers[r.URL.Path]; answer != nil {
			answer(w)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func offers(paths ...string) map[string]func(http.ResponseWriter) {
	all := map[string]func(http.ResponseWriter){}
	for _, path := range paths {
		all[path] = func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, replies[strings.TrimPrefix(path, "/v1")])
		}
	}
	return all
}

func refuses(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ask(t *testing.T, target llm.Target, doors map[string]events.API) (*llm.Completion, error) {
	req := llm.Request{Doors: doors, Messages: []events.Message{{Role: events.RoleUser, Content: "hello"}}}
	for d, err := range (&llm.Caller{MaxAttempts: 1}).Stream(t.Context(), llm.Route{target}, req) {
		if err != nil {
			return nil, err
		}
		if d.Done != nil {
			return d.Done, nil
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// Fact 17: which API a model is asked by, what happens where the endpoint has none of it, and
// that each base URL works with and without /v1.
//
// Proves R78.
func TestDoors(t *testing.T) {
	keys := env("OPENAI_API_KEY", "k", "ANTHROPIC_API_KEY", "k", "XAI_API_KEY", "k")
	const all = "/v1/chat/completions /v1/responses /v1/messages"
	for _, c := range []struct {
		name, offered, base, spec string
		api                       events.API
		answer                    string
		tried                     []string
		rerouted                  bool
	}{
		{"openai", all, "/v1", "openai/m", "", "responses", []string{"/v1/responses"}, false},
		{"xai", all, "/v1", "xai/m", "", "responses", []string{"/v1/responses"}, false},
		{"anthropic", all, "/v1", "anthropic/m", "", "messages", []string{"/v1/messages"}, false},
		{"others", all, "/v1", "m", "", "chat", []string{"/v1/chat/completions"}, false},
		{"a flag", all, "/v1", "openai/m?api=responses", "chat", "chat", []string{"/v1/chat/completions"}, false},
		{"a name", all, "/v1", "m?api=messages", "", "messages", []string{"/v1/messages"}, false},
		{"no such door", "/v1/chat/completions", "/v1", "openai/m", "", "chat", []string{"/v1/responses", "/v1/chat/completions"}, true},
		{"no such door either", "/v1/chat/completions", "/v1", "anthropic/m", "", "chat", []string{"/v1/messages", "/v1/chat/completions"}, true},
		{"without version", all, "", "openai/m", "", "responses", []string{"/v1/responses"}, false},
		{"messages without version", all, "", "anthropic/m", "", "messages", []string{"/v1/messages"}, false},
		{"chat without version", all, "/", "m", "", "chat", []string{"/v1/chat/completions"}, false},
		{"at the root", "/chat/completions", "", "m", "", "chat", []string{"/v1/chat/completions", "/chat/completions"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, offers(strings.Fields(c.offered)...))
			target := resolve(t, endpoint.Config{Env: keys, BaseURL: h.URL + c.base, API: c.api}, c.spec)[0]
			done, err := ask(t, target, nil)
			require.NoError(t, err)
			require.Equal(t, c.answer, done.Reply.Text)
			require.Equal(t, c.answer, string(done.API))
			require.Equal(t, c.rerouted, done.Rerouted)
			require.Equal(t, c.tried, h.tried)
			// What was found out is remembered.
			_, err = ask(t, target, nil)
			require.NoError(t, err)
			require.Equal(t, append(c.tried, c.tried[len(c.tried)-1]), h.tried)
		})
	}
}

// Fact 16: chat completions that refuse tools with reasoning lead to Responses.
func TestFact16Reroute(t *testing.T) {
	answers := offers("/v1/responses")
	answers["/v1/chat/completions"] = refuses(400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`)
	h := open(t, answers)
	target := resolve(t, endpoint.Config{Env: env(), BaseURL: h.URL + "/v1"}, "gpt-5.6-terra")[0]
	done, err := ask(t, target, nil)
	require.NoError(t, err)
	require.Equal(t, "responses", done.Reply.Text)
	require.True(t, done.Rerouted)

	// What the log says of this conversation comes before what this process knows.
	fresh := resolve(t, endpoint.Config{Env: env(), BaseURL: h.URL + "/v1"}, "gpt-5.6-terra")[0]
	h.tried = nil
	_, err = ask(t, fresh, map[string]events.API{fresh.Endpoint.Name: events.APIResponses})
	require.NoError(t, err)
	require.Equal(t, []string{"/v1/responses"}, h.tried)

	// Where an API is named, no other is asked, and the error says which to name.
	named := resolve(t, endpoint.Config{Env: env(), BaseURL: h.URL + "/v1", API: events.APIChat}, "gpt-5.6-terra")[0]
	_, err = ask(t, named, nil)
	require.ErrorContains(t, err, "--api responses")
}

// Fact 17: a 404 that names the model is about the model, not about the API.
func TestFact17AModelThatIsMissing(t *testing.T) {
	answers := offers("/v1/chat/completions")
	answers["/v1/responses"] = refuses(404, `{"error":{"message":"The model 'm' does not exist.","code":"model_not_found"}}`)
	h := open(t, answers)
	target := resolve(t, endpoint.Config{Env: env("OPENAI_API_KEY", "k"), BaseURL: h.URL + "/v1"}, "openai/m")[0]
	_, err := ask(t, target, nil)
	require.Equal(t, llm.ErrModelNotFound, llm.KindOf(err))
	require.Equal(t, []string{"/v1/responses"}, h.tried)
}

// Where nothing answers the error says what to do.
func TestNoDoorAtAll(t *testing.T) {
	h := open(t, nil)
	target := resolve(t, endpoint.Config{Env: env("OPENAI_API_KEY", "k"), BaseURL: h.URL}, "openai/m")[0]
	_, err := ask(t, target, nil)
	require.ErrorContains(t, err, "is the base URL right?")
	require.Equal(t, []string{"/v1/responses", "/responses", "/v1/chat/completions", "/chat/completions"}, h.tried)
}

func TestAnUnknownAPI(t *testing.T) {
	_, err := endpoint.New(endpoint.Config{Env: env("OPENAI_API_KEY", "k")}).Resolve("openai/m?api=soap")
	require.ErrorContains(t, err, `the API "soap" is not known; those known are responses, messages, chat`)
}
