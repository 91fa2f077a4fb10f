package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
)

// narrowBytes is the window of a narrow model: more than the prompts of a team and a part of a
// history that is summarized at once.
const narrowBytes = 48_000

// narrow stands before a model server whose window nobody knows: it refuses what is too long,
// answers a request for a summary with the number of that, and passes the others on.
type narrow struct {
	behind http.Handler

	mu sync.Mutex // guards what follows
	// refused counts the requests that were too long; answered are the others, summaries those
	// of them that wanted one.
	refused, summaries int
	answered           []asked
}

// narrowed has the model server refuse what is longer than its window.
func narrowed(t testing.TB, model *modelServer) *narrow {
	behind, err := url.Parse(strings.TrimSuffix(model.url, "/v1"))
	require.NoError(t, err)
	n := &narrow{behind: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }, FlushInterval: -1}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	model.url = server.URL + "/v1"
	return n
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var a asked
	_ = json.Unmarshal(body, &a) // other requests have no messages
	fits, summary := n.note(a)
	switch {
	case !fits:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"This prompt is longer than the context window.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
	case summary > 0:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"summary %d\"}}]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", summary)
	default:
		n.behind.ServeHTTP(w, r)
	}
}

// note keeps a request, and says whether it fits and which summary it wants, 0 for none.
func (n *narrow) note(a asked) (fits bool, summary int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.bytes() > narrowBytes {
		n.refused++
		return false, 0
	}
	n.answered = append(n.answered, a)
	if len(a.Messages) > 0 && strings.Contains(a.Messages[len(a.Messages)-1].Content, "Summarize the work above") {
		n.summaries++
		summary = n.summaries
	}
	return true, summary
}

func (a asked) bytes() (size int) {
	for _, m := range a.Messages {
		size += len(m.Content)
	}
	return size
}

func (a asked) text() string {
	var b strings.Builder
	for _, m := range a.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// A thread that is longer than the window of a model behind HTTP goes on, with the main agent
// and with a specialist: what was said stands in what the model read, and the newest message in
// its words.
func TestThreadLongerThanTheWindowOverHTTP(t *testing.T) {
	const messages = 4
	for name, c := range map[string]struct{ opening, agent string }{
		"main agent": {"Hello", assistant},
		"specialist": {"I want to create a skill that sends Slack alerts", builder},
	} {
		t.Run(name, func(t *testing.T) {
			if race.Enabled && c.agent == assistant {
				t.Skip("ten seconds of the simulated team's, which share nothing that the specialist does not")
			}
			model := newModelServer(t)
			window := narrowed(t, model)
			d := newDesk(t, model, nil)
			chat := newChat(t, d.served)
			chat.answers(c.opening)
			var marks []string
			newest := ""
			for i := range messages {
				marks = append(marks, fmt.Sprintf("begin-%d", i), fmt.Sprintf("end-%d", i))
				newest = marks[2*i] + strings.Repeat(" temple", 14_000/7) + " " + marks[2*i+1]
				require.NotEmpty(t, chat.answers(newest))
				require.Equal(t, events.StatusCompleted, chat.context().Status)
			}
			window.mu.Lock()
			defer window.mu.Unlock()
			require.Positive(t, window.refused)
			require.Positive(t, window.summaries)
			read, last := "", asked{}
			for _, a := range window.answered {
				read += a.text()
				if a.is(c.agent) && strings.Contains(a.text(), newest) {
					last = a
				}
			}
			for _, mark := range marks {
				require.Contains(t, read, mark)
			}
			require.Contains(t, last.text(), "summary ", "what is gone is summarized")
			require.NotContains(t, last.text(), marks[0])
			require.NotEmpty(t, d.logged(t, chat, events.KindHistoryCompacted))
			var said []string
			for _, line := range chat.said() {
				if text, ok := strings.CutPrefix(line, "user: "); ok {
					said = append(said, text)
				}
			}
			require.Len(t, said, messages+1, "the user reads all of it")
			require.Equal(t, newest, said[messages])
		})
	}
}
