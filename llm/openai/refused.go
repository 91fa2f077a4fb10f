package openai

import (
	"strings"

	"github.com/convene-run/convene/llm"
)

// parameters is a set of the request's optional fields. Models differ in which
// they take (newer ones of OpenAI no temperature, older servers no
// stream_options); each is left out after the endpoint has refused it by name.
type parameters uint8

const (
	parameterTemperature parameters = 1 << iota
	parameterOutputLimit
	parameterStreamOptions
	parameterToolChoice
)

// maxRefusedParameters bounds the attempts of one call to find out: each field once.
const maxRefusedParameters = 4

func (p parameters) has(one parameters) bool { return p&one != 0 }

// refusedParameter says that the endpoint takes the request without a field.
type refusedParameter struct {
	parameter parameters
	err       *llm.Error
}

func (r *refusedParameter) Error() string { return r.err.Error() }

func (c *Client) refusals(model string) parameters {
	c.refusedMu.Lock()
	defer c.refusedMu.Unlock()
	return c.refused[model]
}

func (c *Client) learn(model string, p parameters) {
	c.refusedMu.Lock()
	defer c.refusedMu.Unlock()
	c.refused[model] |= p
}

// refusal looks in a refused request's answer for a field that could be left out.
func (c *Client) refusal(e *llm.Error, param string) error {
	if e.Kind != llm.ErrBadRequest || (e.Status != 400 && e.Status != 422) {
		return e
	}
	text := param + " " + e.Message
	known := c.refusals(e.Model)
	for _, candidate := range []struct {
		name      string
		parameter parameters
	}{
		{"temperature", parameterTemperature},
		{"stream_options", parameterStreamOptions},
		{"max_tokens", parameterOutputLimit},
		{"max_completion_tokens", parameterOutputLimit},
		{"tool_choice", parameterToolChoice},
	} {
		if strings.Contains(text, candidate.name) && !known.has(candidate.parameter) {
			return &refusedParameter{parameter: candidate.parameter, err: e}
		}
	}
	return e
}
