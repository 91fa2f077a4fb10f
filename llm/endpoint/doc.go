// Package endpoint turns what people set into a route of models: a name such as
// "anthropic/claude-sonnet-4-5", the keys in their environment, a base URL. Equal
// base URL and key give the same [llm.Endpoint], so that all runs of a process
// share its limiter and its connections. It makes no network requests, except for
// the list of models where none is named.
package endpoint
