package main

import (
	"fmt"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/sim"
	"github.com/convene-run/convene/runner"
)

type simOnly struct{}

func (simOnly) Resolve(specs ...string) (llm.Route, error) {
	for _, s := range specs {
		if s != "sim" {
			return nil, fmt.Errorf("no model configured")
		}
	}
	return llm.Route{{Endpoint: &llm.Endpoint{Name: "sim", Client: sim.New(sim.Options{})}, Model: "sim"}}, nil
}

// models gives the resolver of model names.
func (a *app) models(baseURL, model string) (runner.Models, error) { return simOnly{}, nil }
