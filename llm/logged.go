package llm

import "github.com/convene-run/convene/events"

// LoggedTarget is where a target of a run was asked, as the run's log has it.
type LoggedTarget struct {
	// Provider is the endpoint's name, Model the name as the endpoint knows it.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Address is the base URL, without user info and query; "" for a model in the process.
	Address string `json:"address,omitempty"`
	// API is the one that was chosen for it, "" where it was left to the endpoint.
	API events.API `json:"api,omitempty"`
	// Keyless is set where no key was sent.
	Keyless bool `json:"keyless,omitempty"`
}

// Logged gives a route as a log keeps it: nothing where it has no address.
func (r Route) Logged() []LoggedTarget {
	logged, addressed := make([]LoggedTarget, len(r)), false
	for i, target := range r {
		e := target.Endpoint
		logged[i] = LoggedTarget{Provider: e.Name, Model: target.Model, Address: e.Address, API: target.API, Keyless: e.Keyless}
		addressed = addressed || e.Address != ""
	}
	if !addressed {
		return nil
	}
	return logged
}
