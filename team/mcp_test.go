package team_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

const withServers = `name: look
mcp:
  everything: {command: npx, args: [-y, "pkg@1"], env: {KEY: "${KEY}"}, allow: [echo, "get-*"], deny: [get-env], timeout: 2m, effects: {echo: pure}}
  wiki: {url: "https://wiki.example.com/mcp?team=a&token=${T}", headers: {Authorization: "Bearer ${WIKI_TOKEN}"}}
specialists:
  - {id: one, description: d, prompt: p, tools: [everything__echo, "wiki__*"]}
`

func TestServersOfATeam(t *testing.T) {
	path := filepath.Join(t.TempDir(), "look.yaml")
	require.NoError(t, os.WriteFile(path, []byte(withServers), 0o600))
	tm, err := team.Load(path)
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, team.MCPServer{
		Command: "npx", Args: []string{"-y", "pkg@1"}, Env: map[string]string{"KEY": "${KEY}"}, Dir: dir,
		Allow: []string{"echo", "get-*"}, Deny: []string{"get-env"}, Timeout: team.Duration(2 * time.Minute),
		Effects: map[string]events.Effect{"echo": events.EffectPure},
	}, tm.MCP["everything"])
	require.Empty(t, tm.MCP["wiki"].Dir)
	require.Equal(t, []string{"everything__*", "wiki__*"}, tm.SwitchedOn())
	require.Equal(t, []string{"everything__echo", "wiki__*"}, tm.ServerTools())
	require.NoError(t, tm.CheckTools(tm.ServerTools()))
	require.NoError(t, tm.CheckTools([]string{"everything__echo", "wiki__find"}))
	require.ErrorContains(t, tm.CheckTools([]string{"everything__ecco", "wiki__find"}), `look.yaml:6:50: unknown tool "everything__echo"; did you mean "everything__ecco"?`)

	copied, err := tm.Copy()
	require.NoError(t, err)
	require.Equal(t, tm.MCP, copied.MCP, "as a log has it")
	var plain map[string]any
	body, err := json.Marshal(tm)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &plain))
	require.Contains(t, string(body), "${WIKI_TOKEN}")
}

// Each mistake is refused where it stands.
func TestServersThatAreRefused(t *testing.T) {
	for server, want := range map[string]string{
		`a: {}`: "the server has neither command nor url",
		`a: {command: x, url: "https://x.example.com"}`:                                                         "both command and url",
		`a: {command: x, headers: {A: "${B}"}}`:                                                                 "headers belong to a url",
		`a: {command: x, oauth: {client_id: c}}`:                                                                "oauth belongs to a url",
		`a: {url: "http://w/", oauth: {client_id: ""}}`:                                                         "the client has no id",
		`a: {url: "http://w/", oauth: {client_id: c, client_secret: s}}`:                                        "holds a literal value",
		`a: {url: "http://w/", headers: {authorization: "${A}"}, oauth: {client_id: c, client_secret: "${S}"}}`: "the headers declare Authorization",
		`a: {url: "https://x.example.com", args: [y]}`:                                                          "args belong to a command",
		`a: {url: "https://x.example.com", env: {A: "${B}"}}`:                                                   "env belongs to a command",
		`a: {url: "https://x.example.com", dir: /}`:                                                             "dir belongs to a command",
		`a: {command: x, env: {KEY: sk-1}}`:                                                                     "mcp.a.env.KEY holds a literal value",
		`a: {command: x, env: {"K Y": "${K}"}}`:                                                                 `"K Y" is no name here`,
		`a: {command: x, args: ["--key=${KEY}"]}`:                                                               "${KEY} is not replaced in args",
		`a: {command: "x\ny"}`:                                                                                  "single line",
		`a: {url: "ftp://x"}`:                                                                                   "no address of a server",
		`a: {url: "https://"}`:                                                                                  "no address of a server",
		`a: {url: "https://me:secret@x.example.com"}`:                                                           "holds a user or a password",
		`a: {url: "https://${HOST}/mcp"}`:                                                                       "the host of the address is a variable",
		`a: {url: "https://x.example.com/?api_key=sk-1"}`:                                                       `a literal value of "api_key"`,
		`a: {url: "https://x.example.com", headers: {X-A: plain}}`:                                              "holds a literal value",
		`a: {command: x, allow: ["a*b"]}`:                                                                       "a * stands for any ending",
		`a: {command: x, deny: [b, b]}`:                                                                         "listed twice",
		`a: {command: x, effects: {b: idempotnt}}`:                                                              `unknown effect "idempotnt"; did you mean "idempotent"?`,
		`a: {command: x, timeout: 48h}`:                                                                         "between 1ms and 24h",
		`A: {command: x}`:                                                                                       `"A" is no name of a server`,
		`a__b: {command: x}`:                                                                                    `no name of a server`,
		`call_a: {command: x}`:                                                                                  "reserved for calling specialists; rename the server, for example to \"a\"",
		`a: {comand: x}`:                                                                                        `unknown key "comand" in mcp.a; did you mean "command"?`,
		`a: [x]`:                                                                                                "mcp.a must be a mapping",
	} {
		t.Run(server, func(t *testing.T) {
			_, err := team.Parse("t.yaml", []byte("name: t\nspecialists:\n  - {id: one, description: d, prompt: p}\nmcp:\n  "+server+"\n"))
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "t.yaml:5:")
		})
	}
}

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) { return "v-" + name, name != "NONE" }
	text, err := team.Expand("a ${B} $C ${D}${B} ${}", lookup)
	require.NoError(t, err)
	require.Equal(t, "a v-B $C v-Dv-B ${}", text)
	_, err = team.Expand("${B}${NONE}", lookup)
	require.EqualError(t, err, "the variable NONE is not set; set it in the environment of convene")
}
