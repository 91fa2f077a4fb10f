package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/team"
)

// maxServers bounds the servers of one process: each is a process of its own or an open
// connection, for as long as the pool lives.
const maxServers = 64

// Options say how a pool connects.
type Options struct {
	// Dir is the working directory of commands. Defaults to the process's.
	Dir string
	// Lookup gives the value of a variable. Defaults to [os.LookupEnv].
	Lookup func(name string) (string, bool)
	// Traceparent gives the span that a call is, as W3C Trace Context writes it, for its server;
	// "" for none. Defaults to that of others which the run is part of.
	Traceparent func(in agent.Invocation) string
	// SignIns keeps what servers that ask for OAuth were signed in to. Defaults to nothing: such
	// servers cannot be used.
	SignIns SignIns
	// Browse shows a person where to sign in. Defaults to nobody: a server that asks for a
	// sign-in which is not kept cannot be connected.
	Browse Browse
}

// Pool has the connections to servers, one for each, whoever uses it. It is safe for
// concurrent use.
type Pool struct {
	options Options
	// ctx ends when the pool is closed: no connection is made any more.
	ctx  context.Context
	stop context.CancelFunc
	// work counts the goroutines of the pool and of its servers.
	work sync.WaitGroup

	mu      sync.Mutex // guards what follows
	servers map[string]*server
	closed  bool
}

// New gives a pool without connections. The caller closes it.
func New(options Options) *Pool {
	if options.Lookup == nil {
		options.Lookup = os.LookupEnv
	}
	if options.Traceparent == nil {
		options.Traceparent = func(in agent.Invocation) string { return in.Traceparent }
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Pool{options: options, ctx: ctx, stop: stop, servers: map[string]*server{}}
}

// Close ends all connections, and the processes of servers with their children. It returns
// when they have ended; a second call does nothing. Calls under way fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
}

// errClosed is what a call of a closed pool is told.
var errClosed = errors.New("unavailable: the program is ending")

// server finds the connection to a server, or makes the place for it.
func (p *Pool) server(name string, config team.MCPServer) (*server, error) {
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}
	key := connectionKey(config, dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s := p.servers[key]; {
	case p.closed:
		return nil, errClosed
	case s != nil:
		return s, nil
	case len(p.servers) == maxServers:
		return nil, fmt.Errorf("unavailable: this process has %d MCP servers already, which is the most", maxServers)
	}
	s := &server{pool: p, name: name, config: config, dir: dir}
	p.servers[key] = s
	return s, nil
}

func (p *Pool) dir() (string, error) {
	if p.options.Dir != "" {
		return filepath.Abs(p.options.Dir)
	}
	return os.Getwd()
}

// connectionKey is equal for servers that one connection serves: the same command in the
// same directory, or the same address.
func connectionKey(config team.MCPServer, dir string) string {
	config.Allow, config.Deny, config.Effects, config.Timeout = nil, nil, nil, 0
	if config.URL != "" {
		dir = ""
	}
	body, err := json.Marshal(struct {
		Server team.MCPServer
		Dir    string
	}{config, dir})
	if err != nil {
		panic(fmt.Sprintf("mcpclient: marshal a server: %v", err)) // strings alone
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// secrets hides the values of a server's variables in what people and models read.
type secrets struct {
	hide *strings.Replacer
	// values are what hide looks for: it copies a text, twice, whether it has one or not.
	values []string
	// signIn has secrets of its own, which change. It is nil where there is none.
	signIn *authorizer
}

// minSecretBytes is the shortest value that is hidden: shorter ones occur in any text.
const minSecretBytes = 4

// secretsOf gives what hides the values of the variables in the texts.
func secretsOf(lookup func(string) (string, bool), texts ...string) secrets {
	var names []string
	for _, text := range texts {
		names = append(names, team.Variables(text)...)
	}
	slices.Sort(names)
	var pairs, values []string
	for _, name := range slices.Compact(names) {
		if value, ok := lookup(name); ok && len(value) >= minSecretBytes {
			pairs, values = append(pairs, value, "${"+name+"}"), append(values, value)
		}
	}
	return secrets{hide: strings.NewReplacer(pairs...), values: values}
}

func (s secrets) in(text string) string {
	if s.signIn != nil {
		text = s.signIn.in(text)
	}
	if !slices.ContainsFunc(s.values, func(value string) bool { return strings.Contains(text, value) }) {
		return text
	}
	return s.hide.Replace(text)
}
