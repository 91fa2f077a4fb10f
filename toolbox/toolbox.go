// Package toolbox opens the tools that teams switch on, for runner.Config.Toolbox.
//
//	tools := toolbox.New(toolbox.Config{Consented: func(ask toolbox.Ask) bool { return mine[ask.Hash] }})
//	r, err := runner.New(runner.Config{Log: log, Models: models, Toolbox: tools})
package toolbox

import (
	"context"
	"os"
	"slices"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/toolbox/builtin"
)

// Config is what a [Toolbox] works with.
type Config struct {
	// Consented reports whether somebody has consented to what a team asks for. It must be
	// safe for concurrent use. Defaults to nobody, ever.
	Consented func(Ask) bool
	// Confirmed gives the tools of an MCP server as somebody confirmed them, by [ListingKey];
	// nil for a server that nobody has confirmed, whose teams are refused then. Runs offer
	// these, and a server is connected only when one is called. Defaults to trusting what
	// each server lists when a team of it is opened, which connects it.
	Confirmed func(key string) (*mcpclient.Listing, error)
	// Env gives the value of a variable, "" where it is not set. Defaults to [os.Getenv].
	Env func(name string) string
	// Extract gives a file that read_file finds and that is no text with its type and the text
	// of its pages, see [agent.File]. It must be safe for concurrent use. Defaults to none: only
	// text is read.
	Extract func(ctx context.Context, name string, data []byte) agent.File
	// Traceparent is that of [mcpclient.Options].
	Traceparent func(in agent.Invocation) string
	// SignIns and Browse are those of [mcpclient.Options], for MCP servers that ask for OAuth.
	SignIns mcpclient.SignIns
	Browse  mcpclient.Browse
}

// Toolbox opens the tools of teams. It is safe for concurrent use, and meant to be one for a
// process: what its tools keep is shared by all runs.
type Toolbox struct {
	config  Config
	kit     builtin.Kit
	servers *mcpclient.Pool
}

// New gives a toolbox. The caller closes it.
func New(config Config) *Toolbox {
	if config.Consented == nil {
		config.Consented = func(Ask) bool { return false }
	}
	if config.Env == nil {
		config.Env = os.Getenv
	}
	lookup := func(name string) (string, bool) {
		value := config.Env(name)
		return value, value != ""
	}
	return &Toolbox{
		config: config, kit: builtin.Kit{Env: config.Env, Extract: config.Extract},
		servers: mcpclient.New(mcpclient.Options{Lookup: lookup, Traceparent: config.Traceparent, SignIns: config.SignIns, Browse: config.Browse}),
	}
}

// Close ends the MCP servers that were started. It returns when they have ended; calls under
// way fail.
func (b *Toolbox) Close() { b.servers.Close() }

// Open gives the tools that the team switches on, see runner.Toolbox. Nothing that needs
// consent is touched without it: the error is then a [*ConsentError].
func (b *Toolbox) Open(ctx context.Context, t *team.Team) ([]agent.Tool, error) {
	if err := b.allowed(t); err != nil {
		return nil, err
	}
	own, err := b.kit.Tools(t)
	if err != nil {
		return nil, err
	}
	served, err := b.served(ctx, t)
	return slices.Concat(own, served), err
}

// allowed refuses a team that asks for what nobody has consented to.
func (b *Toolbox) allowed(t *team.Team) error {
	if ask := AskOf(t); len(ask.Lines) > 0 && !b.config.Consented(ask) {
		return &ConsentError{ask, t.File()}
	}
	return nil
}
