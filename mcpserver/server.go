package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// Log is what a server reads: a part of [events.Log].
type Log interface {
	events.Reader
	events.Index
}

// Runs starts and steers runs: a part of [web.Runs], which says more of its methods.
// Implementations are safe for concurrent use.
type Runs interface {
	// Start begins a run and drives it in the background, whatever becomes of ctx.
	Start(ctx context.Context, by access.Identity, job web.Job) (web.Started, error)
	// Cancel ends a run for good, or asks the process that drives it to.
	Cancel(ctx context.Context, by access.Identity, run events.RunID, reason string) error
	// Send takes a user's message. It returns once the message is durable.
	Send(ctx context.Context, by access.Identity, said web.Said) (web.Receipt, error)
}

// Team is a team that callers can choose.
type Team struct {
	// Name is that by which [Runs] knows it.
	Name string
	// Description says in a line what the team is for.
	Description string
	// Vars are the placeholders of its request template that a caller fills.
	Vars []string
}

// Config is what a [Server] works with. Log, Runs and Teams are required.
type Config struct {
	Log  Log
	Runs Runs
	// Teams are those that callers can choose; the first is the default.
	Teams []Team
	// Kept are the folds of the log's threads, those of the runner above all. Defaults to
	// others.
	Kept *thread.Kept
	// As is for whom runs are started and shown where no [web.Guard] says who calls: on standard
	// input above all. Defaults to the operator of [events.LocalTenant].
	As access.Identity
	// Audit keeps who was refused what. Defaults to nobody's being kept.
	Audit *audit.Recorder
	// Version is shown to callers.
	Version string
	// Logger gets what the protocol's sessions report, and failures of which a caller is told no
	// more than where to look. Defaults to none.
	Logger *slog.Logger
}

// Server has the tools. It is safe for concurrent use.
type Server struct {
	config Config
	mcp    *mcp.Server
}

// New gives a server.
func New(config Config) (*Server, error) {
	if config.Log == nil || config.Runs == nil || len(config.Teams) == 0 {
		return nil, errors.New("new MCP server: Log, Runs and Teams are required")
	}
	if config.As.Tenant == "" {
		config.As = access.Operator(events.LocalTenant)
	}
	config.As.Door = events.DoorMCP
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Kept == nil {
		config.Kept = thread.NewKept(config.Log)
	}
	s := &Server{config: config}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "convene", Title: "convene", Version: config.Version}, &mcp.ServerOptions{
		Logger: config.Logger, Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the tools stay what they are
	})
	s.mcp.AddReceivingMiddleware(onlyTools)
	return s, s.addTools()
}

// onlyTools refuses the methods of what the server does not have, and so does not declare: the
// SDK would answer them with empty lists.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch kind, _, _ := strings.Cut(method, "/"); kind {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
		}
		return next(ctx, method, req)
	}
}

// instructions tell a model when to use which tool.
const instructions = "Teams of specialists work on a request together and answer it. run_team waits for the answer, which takes minutes; " +
	"start_run returns at once, and get_run tells what became of the run. Every run is kept, also one that failed or was interrupted."

// ServeStdio serves one client, on the program's standard input and output as a rule, until
// the client ends the connection or ctx ends. Nothing else may be written to out. Runs go on:
// whoever drives them parks them.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: noClose{out}})
	if err != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("the connection with the client broke: %w", err)
	}
	return nil
}

type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// team gives the name of the team that a caller chose.
func (s *Server) team(name string) (string, error) {
	if name == "" {
		return s.config.Teams[0].Name, nil
	}
	if !s.offers(name) {
		return "", refuse("there is no team %.100q here, only %s", name, s.names())
	}
	return name, nil
}

func (s *Server) offers(name string) bool {
	return slices.ContainsFunc(s.config.Teams, func(t Team) bool { return t.Name == name })
}
