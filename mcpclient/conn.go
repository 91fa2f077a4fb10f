package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is the way to a server.
type link interface {
	transport() mcp.Transport
	// ended is closed when a process has ended. It is nil for an address.
	ended() <-chan struct{}
	// lastWords says how a process ended and what it wrote last to its standard error,
	// ready to follow a message; "" where there is nothing to say.
	lastWords() string
	// close gives up the way. A process has ended, with its children, when it returns.
	close()
}

// conn is a connection to a server, with the tools that the server lists.
type conn struct {
	link    link
	session *mcp.ClientSession
	hide    secrets
	// stale is set when the server said that its list of tools has changed.
	stale atomic.Bool
	calls atomic.Int64 // numbers the calls, for their progress
	// over is closed when the connection has ended; then why says how.
	over chan struct{}
	why  error

	mu    sync.Mutex // guards what follows
	tools map[string]Tool
	list  *Listing
	heard map[string]func(words string) // by progress token
}

// open begins a session over the link and reads the list of tools.
func open(ctx context.Context, via link, version string, hide secrets) (*conn, error) {
	c := &conn{link: via, hide: hide, heard: map[string]func(string){}, over: make(chan struct{})}
	client := mcp.NewClient(&mcp.Implementation{Name: "convene", Version: "1"}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{}, // nothing is asked of us
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.stale.Store(true) },
		ProgressNotificationHandler: c.progressed,
	})
	session, err := client.Connect(ctx, via.transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	c.session = session
	if err := c.read(ctx); err != nil {
		_ = session.Close() // the reason is known already
		return nil, err
	}
	return c, nil
}

// untilEnd waits until the session or its process has ended, or the context: then it ends
// both. The error says what happened.
func (c *conn) untilEnd(ctx context.Context) error {
	closed := make(chan error, 1)
	go func() { closed <- c.session.Wait() }()
	said := ""
	select {
	case err := <-closed:
		if err != nil && !errors.Is(err, io.EOF) {
			said = ": " + err.Error()
		}
	case <-c.link.ended():
	case <-ctx.Done():
	}
	if c.link.ended() == nil {
		_ = c.session.Close() // tells the server, as far as it listens
	}
	c.link.close()
	_ = c.session.Close() // that of a process, which is no more
	return errors.New(c.hide.in("ended" + said + c.link.lastWords()))
}

// ending gives why the connection ended, nil if it did not: a call may learn first that it
// has.
func (c *conn) ending(ctx context.Context) error {
	limit := time.Second // an answer that broke off does not end a connection over HTTP
	if c.link.ended() != nil {
		limit = 3 * grace
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.over:
		return c.why
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil
}

// progressed is called for every progress notification.
func (c *conn) progressed(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	c.mu.Lock()
	heard := c.heard[fmt.Sprint(req.Params.ProgressToken)]
	c.mu.Unlock()
	if heard != nil {
		heard(c.hide.in(howFar(req.Params)))
	}
}

// howFar puts a notification into words, as short as people read them in passing.
func howFar(p *mcp.ProgressNotificationParams) string {
	words := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		words += " of " + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		words += ", " + p.Message
	}
	return words
}

// listen has heard called for the progress of a call. The token goes with the call; forget
// ends it.
func (c *conn) listen(heard func(words string)) (token string, forget func()) {
	token = "call-" + strconv.FormatInt(c.calls.Add(1), 10)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard[token] = heard
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.heard, token)
	}
}

// current gives a tool as the server lists it now.
func (c *conn) current(ctx context.Context, name string) (Tool, bool, error) {
	if c.stale.Swap(false) {
		if err := c.read(ctx); err != nil {
			c.stale.Store(true)
			return Tool{}, false, fmt.Errorf("its changed list of tools could not be read: %s", c.hide.in(err.Error()))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tool, there := c.tools[name]
	return tool, there, nil
}

// read reads the list of tools.
func (c *conn) read(ctx context.Context) error {
	list, err := listTools(ctx, c.session)
	if err != nil {
		return err
	}
	tools := map[string]Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.tools = list, tools
	return nil
}

// listing gives the list of tools as it was last read.
func (c *conn) listing() *Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}
