package team

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

// MCPServer is a server of the Model Context Protocol whose tools the team's specialists
// may name: a command that is run, or the URL of one that runs already.
type MCPServer struct {
	Command string            `json:"command,omitempty" jsonschema:"Program that is run as the server; it speaks on its standard input and output. A relative path with a slash in it begins at dir."`
	Args    []string          `json:"args,omitempty" jsonschema:"Arguments of the command. They are shown and logged: what is secret belongs into env."`
	Env     map[string]string `json:"env,omitempty" jsonschema:"Variables that the command gets beside PATH, HOME and the like. Each value holds ${VAR}, read when the server is started."`
	// Dir is where the command runs. [Load] makes it absolute; empty is the working directory
	// of the program, for a team that comes from no file.
	Dir     string            `json:"dir,omitempty" jsonschema:"Folder in which the command runs. A relative path begins at the folder of the team file, which is the default."`
	URL     string            `json:"url,omitempty" jsonschema:"Address of a server that runs already (streamable HTTP). May hold ${VAR}."`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Headers of every request to url, such as Authorization: Bearer ${TOKEN}. Each value holds ${VAR}, read when the server is connected."`
	// OAuth is the client that the server's authorization server knows convene as; nil where
	// convene registers itself.
	OAuth *MCPOAuth `json:"oauth,omitempty" jsonschema:"The client that was agreed with the authorization server of url beforehand, for sign-ins. Without it convene registers itself."`
	// Allow and Deny name tools as the server does; a name may end with *.
	Allow []string `json:"allow,omitempty" jsonschema:"Tools that may be used, by the server's own names; a name may end with *. Defaults to all."`
	Deny  []string `json:"deny,omitempty" jsonschema:"Tools that may not be used, even if allow names them."`
	// Effects say what repeating a call would do, by the server's own names of its tools.
	Effects map[string]events.Effect `json:"effects,omitempty" jsonschema:"What repeating a call of a tool would do, by the server's own names: pure or idempotent calls are repeated after a crash. Defaults to effectful, whatever the server says."`
	// Timeout is how long a call may report no progress; 0 is DefaultMCPTimeout.
	Timeout Duration `json:"timeout,omitempty" jsonschema:"How long a call may report no progress, such as 2m. Defaults to 60s."`
}

// MCPOAuth is a client of OAuth that was registered beforehand, for convene's sign-ins.
type MCPOAuth struct {
	ClientID     string `json:"client_id" jsonschema:"Id of the client. May hold ${VAR}."`
	ClientSecret string `json:"client_secret,omitempty" jsonschema:"Its secret, as ${VAR}, read when the server is connected. Public clients have none."`
}

// DefaultMCPTimeout is the timeout of servers that name none.
const DefaultMCPTimeout = 60 * time.Second

const (
	// maxMCPServers bounds the servers of a team: each is a process or a connection.
	maxMCPServers = 16
	// maxMCPNames bounds the tools that allow and deny name, and variables and headers.
	maxMCPNames = 200
	// maxMCPArgs and maxMCPText bound a command line, which people are shown before they
	// consent to it.
	maxMCPArgs = 100
	maxMCPText = 2000
	maxMCPTime = 24 * time.Hour
	// MCPSeparator stands between the names of a server and of its tool.
	MCPSeparator = "__"
)

var (
	// mcpName leaves room for the tool's name within the 64 characters that endpoints take.
	mcpName     = lazyregexp.New(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)
	mcpVariable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	mcpHeader   = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// variable is one in a text: ${VAR}.
	variable   = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	secretWord = lazyregexp.New(`(?i)key|token|secret|passw|auth|sig|cred`)
)

const (
	maxMCPNameChars = 30
	mcpNameRule     = "write a lower-case letter, then lower-case letters and digits, with single - or _ between them, 30 characters at most"
)

// Variables gives the names of the variables that a text holds as ${VAR}, each once.
func Variables(text string) []string {
	var names []string
	for _, match := range variable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// Expand puts values in the place of the text's variables. The error names a variable that
// has none; it never holds a value.
func Expand(text string, lookup func(name string) (string, bool)) (string, error) {
	for _, name := range Variables(text) {
		if value, ok := lookup(name); !ok || value == "" {
			return "", fmt.Errorf("the variable %s is not set; set it in the environment of convene", name)
		}
	}
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		value, _ := lookup(match[2 : len(match)-1])
		return value
	}), nil
}

// SwitchedOn are the tools that the team brings itself: the built-in ones, and those of each
// server as wiki__*.
func (t *Team) SwitchedOn() []string {
	names := t.Tools.Names()
	for _, server := range slices.Sorted(maps.Keys(t.MCP)) {
		names = append(names, server+MCPSeparator+everyToolOf)
	}
	return names
}

// ServerTools are the tools that specialists name of the team's servers. Whether the servers
// have them shows when they are connected.
func (t *Team) ServerTools() []string {
	var names []string
	for _, s := range t.Specialists {
		for _, name := range s.Tools {
			if server, _, of := strings.Cut(name, MCPSeparator); of {
				if _, there := t.MCP[server]; there {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// locateServers makes the folders of commands absolute.
func (t *Team) locateServers() error {
	for name, server := range t.MCP {
		if server.Command == "" {
			continue
		}
		dir := server.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(t.file), dir)
		}
		place, err := realFolder(dir)
		if err != nil {
			var found problems
			found.add(under("mcp", name)+".dir", "%s cannot be used: %v; create the folder, or name another", clip(dir), err)
			return found.err(t.file, t.places)
		}
		server.Dir = place
		t.MCP[name] = server
	}
	return nil
}

// unknownServer says of the name of a tool that its server is not there, "" if it is none of
// a server.
func (t *Team) unknownServer(tool string) string {
	server, _, of := strings.Cut(tool, MCPSeparator)
	if _, there := t.MCP[server]; !of || there {
		return ""
	}
	if len(t.MCP) == 0 {
		return fmt.Sprintf("unknown server %q; add it under \"mcp:\" of the team, with its command or url", clip(server))
	}
	servers := slices.Sorted(maps.Keys(t.MCP))
	return fmt.Sprintf("unknown server %q%s the servers here are %s", clip(server), didYouMean(server, servers), join(servers))
}

func (t *Team) checkMCP(found *problems) {
	if len(t.MCP) > maxMCPServers {
		found.add("mcp", "the team has %d MCP servers, %d is the most; remove some", len(t.MCP), maxMCPServers)
	}
	for _, name := range slices.Sorted(maps.Keys(t.MCP)) {
		path := under("mcp", name)
		switch {
		case strings.HasPrefix(name, "call_"):
			found.add(path, "names of tools that begin with call_ are reserved for calling specialists; rename the server, for example to %q", strings.TrimPrefix(name, "call_"))
		case !mcpName.MatchString(name) || len(name) > maxMCPNameChars:
			found.add(path, "%q is no name of a server; %s%s", clip(name), mcpNameRule, instead(name, "-", mcpName))
		}
		server := t.MCP[name]
		server.check(path, found)
	}
}

func (s *MCPServer) check(path string, found *problems) {
	switch {
	case s.Command == "" && s.URL == "":
		found.add(path+".command", "the server has neither command nor url; write one of them")
	case s.Command != "" && s.URL != "":
		found.add(path, "the server has both command and url; keep one of them")
	case s.Command != "" && len(s.Headers) > 0:
		found.add(path+".headers", "headers belong to a url; give a command its secrets in env")
	case s.URL != "" && s.Dir != "":
		found.add(path+".dir", "dir belongs to a command; remove it")
	case s.URL != "" && len(s.Args) > 0:
		found.add(path+".args", "args belong to a command; remove them")
	case s.URL != "" && len(s.Env) > 0:
		found.add(path+".env", "env belongs to a command; give a url its secrets in headers")
	}
	s.checkCommand(path, found)
	s.checkOAuth(path+".oauth", found)
	if s.URL != "" {
		checkMCPURL(path+".url", s.URL, found)
	}
	checkValues(path+".env", s.Env, mcpVariable, found)
	checkValues(path+".headers", s.Headers, mcpHeader, found)
	checkToolNames(path+".allow", s.Allow, found)
	checkToolNames(path+".deny", s.Deny, found)
	s.checkEffects(path+".effects", found)
	if s.Timeout < 0 || time.Duration(s.Timeout) > maxMCPTime {
		found.add(path+".timeout", "timeout is %s; write a time between 1ms and 24h", s.Timeout)
	}
}

func (s *MCPServer) checkOAuth(path string, found *problems) {
	if s.OAuth == nil {
		return
	}
	declared := slices.ContainsFunc(slices.Collect(maps.Keys(s.Headers)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
	switch {
	case s.Command != "":
		found.add(path, "oauth belongs to a url; give a command its secrets in env")
	case declared:
		found.add(path, "the headers declare Authorization, so nobody signs in; keep one of them")
	case s.OAuth.ClientID == "":
		found.add(path+".client_id", "the client has no id; write the one that was agreed, or leave oauth out: then convene registers itself")
	case s.OAuth.ClientSecret != "" && len(Variables(s.OAuth.ClientSecret)) == 0:
		found.add(path+".client_secret", "%s.client_secret holds a literal value; write \"${VAR}\", which is read from the environment when the server is connected", path)
	}
	checkCommandText(path+".client_id", s.OAuth.ClientID, found)
	checkCommandText(path+".client_secret", s.OAuth.ClientSecret, found)
}

func (s *MCPServer) checkCommand(path string, found *problems) {
	checkCommandText(path+".command", s.Command, found)
	checkCommandText(path+".dir", s.Dir, found)
	if len(s.Args) > maxMCPArgs {
		found.add(path+".args", "%d arguments, %d is the most", len(s.Args), maxMCPArgs)
	}
	for i, arg := range s.Args {
		at := fmt.Sprintf("%s.args[%d]", path, i)
		checkCommandText(at, arg, found)
		if names := Variables(arg); len(names) > 0 {
			found.add(at, "${%s} is not replaced in args, which other users of the machine can read; hand it to the command in env", names[0])
		}
	}
}

// checkCommandText checks a word of a command line, which a person reads in one line.
func checkCommandText(path, text string, found *problems) {
	if len(text) > maxMCPText {
		found.add(path, "the text has %d characters, %d is the most", len(text), maxMCPText)
	}
	if strings.ContainsAny(text, "\n\r") {
		found.add(path, "the text must be a single line")
	}
	checkText(path, text, found)
}

// checkMCPURL checks the address of a server. Its host is written out, so that the person
// who consents sees where requests go.
func checkMCPURL(path, text string, found *problems) {
	checkCommandText(path, text, found)
	address, err := url.Parse(variable.ReplaceAllString(text, "x"))
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		found.add(path, "%q is no address of a server; write one that begins with https:// or http://", clip(text))
		return
	case address.User != nil:
		found.add(path, "the address holds a user or a password; send it in headers, such as Authorization: Basic ${WIKI_LOGIN}")
		return
	}
	_, behind, _ := strings.Cut(text, "://")
	if host, _, _ := strings.Cut(behind, "/"); len(Variables(host)) > 0 {
		found.add(path, "the host of the address is a variable; write it out, because consent is given for it")
	}
	_, query, _ := strings.Cut(text, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(pair, "="); value != "" && secretWord.MatchString(key) && len(Variables(value)) == 0 {
			found.add(path, "the address holds a literal value of %q; write %s=${VAR}, which is read from the environment when the server is connected", clip(key), clip(key))
		}
	}
}

// checkValues checks variables or headers: names by their pattern, values that hold no
// secret themselves.
func checkValues(path string, values map[string]string, name *lazyregexp.Regexp, found *problems) {
	if len(values) > maxMCPNames {
		found.add(path, "%d values, %d is the most", len(values), maxMCPNames)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := under(path, key)
		if !name.MatchString(key) {
			found.add(at, "%q is no name here; write letters, digits and _", clip(key))
		}
		checkCommandText(at, values[key], found)
		if len(Variables(values[key])) == 0 {
			found.add(at, "%s holds a literal value; write \"${VAR}\", which is read from the environment when the server is connected, so that no secret gets into files and logs", at)
		}
	}
}

func checkToolNames(path string, names []string, found *problems) {
	if len(names) > maxMCPNames {
		found.add(path, "%d tools, %d is the most; a name may end with *", len(names), maxMCPNames)
	}
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case name == "":
			found.add(at, "an empty name; write the name of a tool as its server does")
		case strings.Contains(strings.TrimSuffix(name, "*"), "*"):
			found.add(at, "%q: a * stands for any ending, and nowhere else; write the name up to it", clip(name))
		case slices.Contains(names[:i], name):
			found.add(at, "tool %q is listed twice; remove one", clip(name))
		}
		checkCommandText(at, name, found)
	}
}

func (s *MCPServer) checkEffects(path string, found *problems) {
	effects := []string{string(events.EffectPure), string(events.EffectIdempotent), string(events.EffectEffectful)}
	if len(s.Effects) > maxMCPNames {
		found.add(path, "%d tools, %d is the most", len(s.Effects), maxMCPNames)
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Effects)) {
		if effect := string(s.Effects[tool]); !slices.Contains(effects, effect) {
			found.add(under(path, tool), "unknown effect %q%s the effects are %s", clip(effect), didYouMean(effect, effects), join(effects))
		}
	}
}
