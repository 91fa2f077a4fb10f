package endpoint

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/messages"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/responses"
)

// keyRetry is how long a key that could not be had is not asked for again: the calls of a
// whole team ask at once, and asking may open a dialog.
const keyRetry = time.Minute

// clients are those of an endpoint, by API. They are made at the first call where the key
// has to be asked for.
type clients struct {
	cfg openai.Config
	ask func(context.Context) (string, error)

	turn   chan struct{} // held by who reads or writes what follows
	made   map[events.API]llm.Client
	failed error
	at     time.Time // when it failed
}

func newClients(cfg openai.Config, ask func(context.Context) (string, error)) *clients {
	c := &clients{cfg: cfg, ask: ask, turn: make(chan struct{}, 1)}
	if ask == nil {
		c.open()
	}
	return c
}

func (c *clients) open() {
	native := c.cfg.Config
	c.made = map[events.API]llm.Client{
		events.APIChat:      openai.New(c.cfg),
		events.APIResponses: responses.New(responses.Config{Config: native}),
		events.APIMessages:  messages.New(messages.Config{Config: native}),
	}
}

// get gives the clients. It waits for whoever asks for the key already.
func (c *clients) get(ctx context.Context) (map[events.API]llm.Client, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case c.made != nil:
		return c.made, nil
	case c.failed != nil && time.Since(c.at) < keyRetry:
		return nil, c.failed
	}
	key, err := c.ask(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err() // which says nothing about the key
	}
	if err == nil && (key == "" || badKey(key)) {
		err = errors.New("the configured key is not valid: it is empty, or contains spaces or line breaks; `convene config` shows where it comes from")
	}
	if err != nil {
		c.failed, c.at = err, time.Now()
		return nil, err
	}
	c.cfg.APIKey = key
	c.open()
	return c.made, nil
}

// noKey is the error of a call that could not be made for want of a key.
func (d *Doors) noKey(ctx context.Context, model string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &llm.Error{Kind: llm.ErrAuthentication, Provider: d.provider, Model: model, Message: err.Error()}
}

// badKey reports whether a text holds characters that no key has.
func badKey(key string) bool {
	return strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' })
}
