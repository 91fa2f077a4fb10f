package endpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// NotConfiguredError says that a model cannot be asked as things are set, and how
// to set them. Nothing has been started.
type NotConfiguredError struct {
	// Reason is what is missing.
	Reason string
	// Ways are what to do about it, one of them enough.
	Ways []string
}

func (e *NotConfiguredError) Error() string {
	return e.Reason + "; one of these helps:\n  " + strings.Join(e.Ways, "\n  ")
}

const (
	// localTimeout is what looking for a local server may take: it answers in
	// milliseconds or is not there.
	localTimeout = 500 * time.Millisecond
	// listTimeout is what asking an endpoint for its models may take.
	listTimeout = 5 * time.Second
	// maxNamed bounds the models that an error names.
	maxNamed = 8

	anotherModel = "--model with another provider, or sim (a simulated model, offline and free: its text is made up)"
)

func (r *Resolver) missing(format string, args ...any) error {
	return &NotConfiguredError{Reason: fmt.Sprintf(format, args...), Ways: r.ways()}
}

// unset is for a provider that lacks a variable. No other provider is spoken of: that one
// was named.
func unset(p *preset, names []string) error {
	e := &NotConfiguredError{Reason: fmt.Sprintf("%s is not set, which %s needs", strings.Join(names, " or "), p.name)}
	for _, name := range names {
		e.Ways = append(e.Ways, fmt.Sprintf("export %s=…", name))
	}
	if slices.Equal(names, p.keyVars) {
		e.Ways = append(e.Ways, fmt.Sprintf("key_env or key_command of providers.%s, in the file that `convene config path` names", p.name))
	}
	e.Ways = append(e.Ways, anotherModel)
	return e
}

// unnamed is for a provider that was named without a model. No other one is spoken of.
func (r *Resolver) unnamed(p *preset) error {
	e := &NotConfiguredError{
		Reason: fmt.Sprintf("%q names a provider alone", p.name),
		Ways:   []string{fmt.Sprintf("--model %s/%s, or another of its models", p.name, p.example)},
	}
	if key, _ := r.firstSet(p.keyVars); key == "" && !p.keyless && len(p.keyVars) > 0 {
		e.Ways[0] += fmt.Sprintf(", with its key: export %s=…", strings.Join(p.keyVars, " or "))
	}
	e.Ways = append(e.Ways, anotherModel)
	return e
}

// addressless is for a provider that was configured without an address, or with one in a
// project's file that is not trusted.
func addressless(p *preset) error {
	return &NotConfiguredError{
		Reason: fmt.Sprintf("the provider %s has no base_url that counts; `convene config` shows what does", p.name),
		Ways: []string{
			fmt.Sprintf("base_url of providers.%s, in the file that `convene config path` names", p.name),
			"`convene config trust`, where the project's file sets it and you have read that file",
			anotherModel,
		},
	}
}

// ways lists what people can do, what they are nearest to first.
func (r *Resolver) ways() []string {
	var ways []string
	for i := range r.presets {
		p := &r.presets[i]
		if key, name := r.firstSet(p.keyVars); key != "" && !p.keyless {
			ways = append(ways, fmt.Sprintf("--model %s/%s (%s is set)", p.name, p.example, name))
		}
	}
	if models := r.localOllama(); len(models) > 0 {
		ways = append(ways, fmt.Sprintf("--model ollama/%s (a local Ollama answers; it has %s)", models[0], some(models)))
	}
	return append(ways,
		"export OPENAI_API_KEY=… (and OPENAI_BASE_URL=… for a compatible endpoint)",
		"--base-url http://HOST:PORT/v1 --model NAME",
		"--model PROVIDER/NAME with that provider's key: "+strings.Join(providerNames(r.presets), ", "),
		"a model and providers of your own in the file that `convene config path` names",
		"--model sim (a simulated model, offline and free: its text is made up)",
	)
}

// localOllama lists the models of an Ollama on this machine, nil if there is none.
func (r *Resolver) localOllama() []string {
	p := r.presetNamed("ollama")
	base := p.baseURL
	if host, _ := r.firstSet(p.baseVars); host != "" {
		base = ollamaURL(host)
	}
	client := openai.New(openai.Config{Config: wire.Config{Provider: p.name, BaseURL: base, ConnectTimeout: localTimeout, FirstByteTimeout: localTimeout}})
	defer client.Close()
	models, err := client.Models(context.Background())
	if err != nil {
		return nil // not there
	}
	return models
}

// onlyModel finds the model of an endpoint where nobody named one: the only one it
// has. An endpoint that gives no list is asked for "default": servers of a single
// model do not look at the name.
func (r *Resolver) onlyModel(e *llm.Endpoint) (string, error) {
	lister, ok := e.Client.(interface {
		Models(context.Context) ([]string, error)
	})
	if !ok {
		return "default", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	models, err := lister.Models(ctx)
	switch {
	case err != nil || len(models) == 0:
		return "default", nil // the first call says what is wrong, if anything is
	case len(models) == 1:
		return models[0], nil
	}
	return "", r.missing("%s has %d models (%s) and none is named: --model NAME", e.Name, len(models), some(models))
}

// some names the first models of a list.
func some(models []string) string {
	if len(models) > maxNamed {
		return strings.Join(models[:maxNamed], ", ") + ", …"
	}
	return strings.Join(models, ", ")
}
