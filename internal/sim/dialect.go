package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// dialect is one API as the server speaks it. A value serves one request.
type dialect interface {
	// read takes the body of the request.
	read(body []byte) error
	// check gives what a strict endpoint refuses in the request, "" for nothing. by is
	// whose key it came with.
	check(by account) string
	// request gives the call as the model takes it.
	request() llm.Request
	streams() bool
	// tier is the service tier that the request is served in.
	tier() string
	// finish makes a reply one of this API's, before it is rendered.
	finish(reply *events.Reply, by account)
	// render makes the bytes of a stream beforehand, so that sending it costs no more
	// than the writes; renderWhole those of a reply that is not streamed.
	render(number int, reply events.Reply, cut []chunk, u events.Usage) *rendering
	renderWhole(number int, reply events.Reply, u events.Usage) []byte
	// refuse answers with an error, fail breaks a stream off with one.
	refuse(w http.ResponseWriter, status int, code, message string)
	// tell writes what there is of a limit into the headers of a reply.
	tell(h http.Header, limit *limitTold, now time.Time)
	fail() []byte
}

// account is whose key a request came with: a short hash of it.
type account string

func accountOf(h http.Header) account {
	key := h.Get("X-Api-Key")
	if key == "" {
		key = strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	}
	sum := sha256.Sum256([]byte(key))
	return account(fmt.Sprintf("%x", sum[:4]))
}

// seal makes what only the account that got it may send back: the thinking behind a
// reply, as its provider would encrypt or sign it.
func (a account) seal(api events.API, reply *events.Reply) string {
	about := string(api) + reply.Text
	for _, call := range reply.ToolCalls {
		about += call.Name + call.Arguments
	}
	thought := sha256.Sum256([]byte(about))
	plain := string(api) + "." + string(a) + "." + fmt.Sprintf("%x", thought[:])
	sum := sha256.Sum256([]byte(plain + "sealed"))
	return base64.StdEncoding.EncodeToString([]byte(plain + "." + fmt.Sprintf("%x", sum[:8])))
}

// opens reports whether the account was given this.
func (a account) opens(api events.API, sealed string) bool {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return false
	}
	at := strings.LastIndexByte(string(raw), '.')
	if at < 0 || !strings.HasPrefix(string(raw), string(api)+"."+string(a)+".") {
		return false
	}
	sum := sha256.Sum256([]byte(string(raw[:at]) + "sealed"))
	return string(raw[at+1:]) == fmt.Sprintf("%x", sum[:8])
}

// mark makes the ids of a reply's calls ones of the API and the account, and own tells
// whether an id is one: such a call comes back with the thinking that led to it.
func (a account) mark(api events.API, reply *events.Reply) {
	for i := range reply.ToolCalls {
		reply.ToolCalls[i].ID += events.CallID("-" + string(api) + "-" + string(a))
	}
}

func (a account) own(api events.API, id string) bool {
	return strings.HasSuffix(id, "-"+string(api)+"-"+string(a))
}

// chat is the dialect of chat completions. Of a request it checks only how the model is
// asked.
type chat struct{ wire wireRequest }

func (c *chat) read(body []byte) error { return json.Unmarshal(body, &c.wire) }
func (c *chat) check(account) string {
	return checkTuning(c.wire.Effort, "reasoning_effort", c.wire.Tier)
}
func (c *chat) request() llm.Request          { return c.wire.request() }
func (c *chat) streams() bool                 { return c.wire.Stream }
func (c *chat) tier() string                  { return servedTier(c.wire.Tier) }
func (c *chat) finish(*events.Reply, account) {}

func (c *chat) tell(h http.Header, limit *limitTold, _ time.Time) { limit.openAI(h) }

func (c *chat) render(number int, reply events.Reply, cut []chunk, u events.Usage) *rendering {
	return render(number, &c.wire, reply, cut, u)
}

func (c *chat) renderWhole(number int, reply events.Reply, u events.Usage) []byte {
	return renderWhole(number, &c.wire, reply, u)
}

func (c *chat) refuse(w http.ResponseWriter, status int, code, message string) {
	writeError(w, status, code, message)
}

const failure = `{"error":{"message":"The simulated stream failed as it was told to.","type":"server_error","code":"stream_failed"}}`

func (c *chat) fail() []byte { return []byte(failure) }

// checkTuning looks at how OpenAI's models are asked; param is the name of the effort in
// the API.
func checkTuning(effort, param, tier string) string {
	switch {
	case !slices.Contains([]string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, effort):
		return "Invalid value: '" + effort + "'. Supported values for '" + param + "' are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'."
	case !slices.Contains([]string{"", "auto", "default", tierFlex, "priority"}, tier):
		return "Invalid 'service_tier': '" + tier + "'."
	}
	return ""
}

const tierFlex = "flex"

// servedTier is what OpenAI's APIs call the tier that a request was served in.
func servedTier(asked string) string {
	if asked == "" || asked == "auto" {
		return "default"
	}
	return asked
}
