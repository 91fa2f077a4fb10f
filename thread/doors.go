package thread

import (
	"maps"

	"github.com/convene-run/convene/events"
)

// Doors are the APIs by which the newest calls of the conversation were answered, by
// provider. Do not change them.
func (c *Conversation) Doors() map[string]events.API { return c.doors }

// noteEndpoint takes from a call how its endpoint is to be asked from then on: by which
// API, and without what it refused to take back.
func (c *Conversation) noteEndpoint(e events.ModelCalled) {
	if e.API != "" && c.doors[e.Provider] != e.API {
		c.doors = maps.Clone(c.doors)
		if c.doors == nil {
			c.doors = map[string]events.API{}
		}
		c.doors[e.Provider] = e.API
	}
	if !e.KeptDropped {
		return
	}
	bare := make([]events.Message, len(c.messages))
	for i, m := range c.messages {
		bare[i] = m.WithoutExtra()
	}
	c.messages = bare
	if c.turn != nil {
		c.turn.Extra = nil
	}
}

// AskedBy is the API by which the run asked the provider's model last, "" before it did.
func (r *Run) AskedBy(provider, model string) events.API { return r.apis[[2]string{provider, model}] }

func (r *Run) asked(e events.ModelCalled) {
	if e.API == "" {
		return
	}
	if r.apis == nil {
		r.apis = map[[2]string]events.API{}
	}
	r.apis[[2]string{e.Provider, e.Model}] = e.API
}
