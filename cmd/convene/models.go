package main

import "github.com/convene-run/convene/llm/endpoint"

// models gives the resolver of model names. The model is the one that is asked
// where no other is named; "" leaves that to the environment.
func (a *app) models(baseURL, model string) *endpoint.Resolver {
	return endpoint.New(endpoint.Config{Env: a.env, BaseURL: baseURL, Default: model})
}
