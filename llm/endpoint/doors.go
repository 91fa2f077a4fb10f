package endpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
)

// APIs lists the APIs that a model can be asked by, for flags and error texts.
func APIs() []string {
	return []string{string(events.APIResponses), string(events.APIMessages), string(events.APIChat)}
}

// Doors is a client of an endpoint that may offer several APIs. It asks by one, and
// goes to another where the endpoint says that it has no such API, or wants the model
// asked by the other; it remembers that for each model. It is safe for concurrent use.
type Doors struct {
	provider string
	usual    events.API
	clients  *clients
	// withheld is the address where no key is sent because only a log names it; "" where
	// nothing keeps one back.
	withheld string

	mu      sync.Mutex // guards learned
	learned map[string]events.API
}

var _ llm.Client = (*Doors)(nil)

// newDoors makes the client of an endpoint that is usually asked by that API. Its key is
// asked for at the first call, unless ask is nil.
func newDoors(usual events.API, cfg openai.Config, ask func(context.Context) (string, error)) *Doors {
	if usual == "" {
		usual = events.APIChat
	}
	return &Doors{provider: cfg.Provider, usual: usual, learned: map[string]events.API{}, clients: newClients(cfg, ask)}
}

// Stream asks by the API that the request names, by no other then; else by the one
// that answered this conversation before, or this model, or is usual.
func (d *Doors) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		clients, err := d.clients.get(ctx)
		if err != nil {
			yield(llm.Delta{}, d.noKey(ctx, req.Model, err))
			return
		}
		api, tried := d.door(&req), []events.API(nil)
		for {
			instead := d.ask(ctx, clients[api], api, &req, tried, yield)
			if instead == "" {
				return
			}
			d.learn(req.Model, instead)
			tried = append(tried, api)
			api = instead
		}
	}
}

// ask makes the request by one API, after those that were tried. It gives the API to ask by
// instead, "" once the stream has ended.
func (d *Doors) ask(ctx context.Context, client llm.Client, api events.API, req *llm.Request, tried []events.API, yield func(llm.Delta, error) bool) events.API {
	for delta, err := range client.Stream(ctx, *req) {
		if err != nil {
			if instead := d.instead(err, api, req, tried); instead != "" {
				return instead
			}
		}
		if delta.Done != nil {
			delta.Done.API = api
			delta.Done.Rerouted = api != d.usual && req.API == ""
		}
		if !yield(delta, err) {
			return ""
		}
	}
	return ""
}

// instead gives the API that an answer to a request by one API asks for, "" where the request
// is not to be made again. It adds to the error what there is to do.
func (d *Doors) instead(err error, api events.API, req *llm.Request, tried []events.API) events.API {
	var failure *llm.Error
	if !errors.As(err, &failure) {
		return ""
	}
	if failure.Kind == llm.ErrAuthentication && d.withheld != "" {
		failure.Message = "no key was sent, because only the log names this address; --base-url sends it: " + failure.Message
	}
	switch {
	case failure.Instead == "":
	case req.API != "":
		failure.Message += fmt.Sprintf(" (the endpoint wants --api %s)", failure.Instead)
	case failure.Instead != api && !slices.Contains(tried, failure.Instead):
		return failure.Instead
	}
	return ""
}

// door is the API that a request is made by first.
func (d *Doors) door(req *llm.Request) events.API {
	if req.API != "" {
		return req.API
	}
	if known := req.Doors[d.provider]; known == d.usual || slices.Contains(d.APIs(), known) {
		return known
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.learned[req.Model]; known != "" {
		return known
	}
	return d.usual
}

func (d *Doors) learn(model string, api events.API) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.learned[model] = api
}

// HasTier reports whether the provider has that service tier, as far as is known.
func (d *Doors) HasTier(tier llm.Tier) bool { return d.clients.cfg.Tiers[tier] != "" }

// APIs lists the APIs that the endpoint may offer, its usual one first.
func (d *Doors) APIs() []events.API {
	all := []events.API{d.usual}
	for _, api := range []events.API{events.APIResponses, events.APIMessages, events.APIChat} {
		if api != d.usual {
			all = append(all, api)
		}
	}
	return all
}

// Window asks the server how many tokens a model's window has, 0 where it does not tell.
func (d *Doors) Window(ctx context.Context, model string) int {
	clients, err := d.clients.get(ctx)
	if err != nil {
		return 0
	}
	return clients[d.usual].(interface {
		Window(context.Context, string) int
	}).Window(ctx, model)
}

// Models lists the models that the endpoint offers.
func (d *Doors) Models(ctx context.Context) ([]string, error) {
	clients, err := d.clients.get(ctx)
	if err != nil {
		return nil, d.noKey(ctx, "", err)
	}
	return clients[d.usual].(interface {
		Models(context.Context) ([]string, error)
	}).Models(ctx)
}
