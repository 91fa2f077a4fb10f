package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/team"
)

// content is a file: its fields are the keys that a file may have, and the JSON Schema is
// made of it.
type content struct {
	Model     string              `json:"model,omitempty" jsonschema:"The model of agents that name none, as provider/name; several, with commas between, are tried in turn."`
	Store     string              `json:"store,omitempty" jsonschema:"File that keeps the runs. A relative path begins at the project, or at the folder of the user's file. A project's counts once it is trusted."`
	EnvFile   string              `json:"env_file,omitempty" jsonschema:"File of lines NAME=VALUE, such as .env, for variables that the environment lacks. A relative path begins as that of store does. No such file is read unless it is named here. A project's counts once it is trusted, with what the file holds."`
	Providers map[string]provider `json:"providers,omitempty" jsonschema:"Providers by the name that stands before the slash of a model: those that convene knows, and others."`
	Webhooks  []webhookEntry      `json:"webhooks,omitempty" jsonschema:"Addresses that convene serve tells of events, signed as standardwebhooks.com describes. A project's count once it is trusted."`
	Access    *accessEntry        `json:"access,omitempty" jsonschema:"Who may use convene serve. A project's counts once it is trusted."`
	Prices    *priceTable         `json:"prices,omitempty" jsonschema:"What models cost, as a file of --prices has it, so that --max-cost bounds them. Those of a project that is not trusted count only for models without a known price."`
}

type provider struct {
	BaseURL    string `json:"base_url,omitempty" jsonschema:"Where its models are asked, such as http://localhost:8080/v1. ${NAME} stands for a variable of the environment. A project's counts once it is trusted."`
	KeyEnv     string `json:"key_env,omitempty" jsonschema:"Name of the environment variable that holds the key. A project's counts once it is trusted."`
	KeyCommand string `json:"key_command,omitempty" jsonschema:"Command that prints the key, for the shell, such as: pass show acme. It is run when the provider is asked for the first time, where the variable is not set. A project's counts once it is trusted."`
	API        string `json:"api,omitempty" jsonschema:"API that its models are asked by. Defaults to the one that suits the provider, else chat."`
	Limits     limits `json:"limits,omitempty" jsonschema:"What its endpoint allows. --rpm, --tpm and --max-in-flight come before."`
}

type limits struct {
	RPM         *int `json:"rpm,omitempty" jsonschema:"Requests a minute, at most. Defaults to what the endpoint tells or takes."`
	TPM         *int `json:"tpm,omitempty" jsonschema:"Input and output tokens a minute, at most. Defaults to what the endpoint tells or takes."`
	MaxInFlight *int `json:"max_in_flight,omitempty" jsonschema:"Calls in flight, at most. Defaults to what the endpoint takes."`
}

type priceTable struct {
	AsOf   string                     `json:"as_of,omitempty" jsonschema:"Day of the prices, such as 2026-09-01."`
	Source string                     `json:"source,omitempty" jsonschema:"Where the prices are from."`
	Unit   string                     `json:"unit,omitempty" jsonschema:"Unit of the prices; there is one."`
	Models map[string]json.RawMessage `json:"models,omitempty" jsonschema:"Prices by model: provider/model, provider/* for every other model of a provider, or a model alone for every provider."`
}

var (
	providerName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*$`)
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
)

// reserved is the simulated model, which has no address.
const reserved = "sim"

// parse reads a file. The error lists every problem with its line and column.
func parse(name string, src []byte) (content, error) {
	var c content
	file := team.ReadYAML(name, src, &c)
	if c.Model != "" && strings.TrimSpace(c.Model) == "" {
		file.Problem("model", "model is blank; name one as provider/name, or remove the key")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		p.check(file, "providers."+name, name)
	}
	for i := range c.Webhooks {
		c.Webhooks[i].check(file, fmt.Sprintf("webhooks[%d]", i))
	}
	if c.Access != nil {
		c.Access.check(file)
	}
	if c.Prices != nil {
		c.Prices.check(file)
	}
	return c, file.Err()
}

func (p *provider) check(file *team.YAML, path, name string) {
	switch {
	case name == reserved:
		file.Problem(path, "%s is the simulated model, which has no settings; name the provider otherwise", name)
	case !providerName.MatchString(name):
		file.Problem(path, "the name of a provider has lower-case letters, digits, - and _")
	}
	if p.BaseURL != "" && !goodBaseURL(p.BaseURL) {
		file.Problem(path+".base_url", "base_url is no address of an endpoint; write http://HOST:PORT/v1 or https://HOST/v1")
	}
	if p.KeyEnv != "" && !variableName.MatchString(p.KeyEnv) {
		// Not repeated: it may be the key itself.
		file.Problem(path+".key_env", "key_env is the name of an environment variable, such as ACME_API_KEY, not the key itself")
	}
	if p.KeyCommand != "" && strings.TrimSpace(p.KeyCommand) == "" {
		file.Problem(path+".key_command", "key_command is blank; write a command that prints the key, or remove it")
	}
	if p.API != "" && !slices.Contains(endpoint.APIs(), p.API) {
		file.Problem(path+".api", "the API %q is not known; those known are %s", p.API, strings.Join(endpoint.APIs(), ", "))
	}
	for name, limit := range map[string]*int{"rpm": p.Limits.RPM, "tpm": p.Limits.TPM, "max_in_flight": p.Limits.MaxInFlight} {
		if limit != nil && *limit < 1 {
			file.Problem(path+".limits."+name, "%s must be above 0; remove it for no limit of your own", name)
		}
	}
}

// goodBaseURL checks an address before its variables are known.
func goodBaseURL(base string) bool {
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
		return false
	}
	address, err := url.Parse(strings.NewReplacer("${", "", "}", "").Replace(base))
	return err == nil && address.Host != ""
}

// check looks at each model alone, because a table tells of its first problem only.
func (t *priceTable) check(file *team.YAML) {
	alone := func(path string, part priceTable) {
		if _, err := part.table(); err != nil {
			file.Problem(path, "%s", strings.TrimPrefix(err.Error(), "read prices: "))
		}
	}
	alone("prices.unit", priceTable{Unit: t.Unit})
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		alone("prices.models."+name, priceTable{Models: map[string]json.RawMessage{name: t.Models[name]}})
	}
}

func (t *priceTable) table() (*prices.Table, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, errors.New("what stands here has no JSON form")
	}
	return prices.Parse(text)
}

// values lists what the file says, by key.
func (c *content) values() map[string]string {
	all := map[string]string{"model": c.Model, "store": c.Store, "env_file": c.EnvFile}
	for name, p := range c.Providers {
		path := "providers." + name + "."
		all[path+"base_url"], all[path+"key_env"], all[path+"key_command"], all[path+"api"] = p.BaseURL, p.KeyEnv, p.KeyCommand, p.API
		for key, limit := range map[string]*int{"rpm": p.Limits.RPM, "tpm": p.Limits.TPM, "max_in_flight": p.Limits.MaxInFlight} {
			if limit != nil {
				all[path+"limits."+key] = fmt.Sprint(*limit)
			}
		}
	}
	for i, w := range c.Webhooks {
		w.values(fmt.Sprintf("webhooks[%d].", i), all)
	}
	if c.Access != nil {
		c.Access.values(all)
	}
	if c.Prices != nil {
		for name, model := range c.Prices.Models {
			all["prices.models."+name] = string(model)
		}
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// dangerous reports whether a key could run a command, collect a key, or write or tell
// elsewhere.
func dangerous(key string) bool {
	last := key[strings.LastIndexByte(key, '.')+1:]
	return key == "store" || key == "env_file" || strings.HasPrefix(key, "webhooks[") || strings.HasPrefix(key, "access.") ||
		strings.HasPrefix(key, "providers.") && (last == "base_url" || last == "key_env" || last == "key_command")
}

// harmless is the file without what is dangerous.
func (c content) harmless() content {
	c.Store, c.EnvFile, c.Webhooks, c.Access = "", "", nil, nil
	c.Providers = maps.Clone(c.Providers)
	for name, p := range c.Providers {
		p.BaseURL, p.KeyEnv, p.KeyCommand = "", "", ""
		c.Providers[name] = p
	}
	return c
}
