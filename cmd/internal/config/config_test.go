package config_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/cmd/internal/config"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/prices"
	"github.com/convene-run/convene/webhook"
)

// place is a home with a project in it, which is the working directory.
type place struct {
	t                  *testing.T
	settings, project  string
	userFile, projFile string
}

func newPlace(t *testing.T) *place {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := &place{t: t, settings: filepath.Join(home, "settings"), project: filepath.Join(home, "src", "repo")}
	p.userFile, p.projFile = filepath.Join(p.settings, "config.yaml"), filepath.Join(p.project, ".convene", "config.yaml")
	t.Setenv("HOME", home)
	for _, dir := range []string{p.settings, filepath.Dir(p.projFile)} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	t.Chdir(p.project)
	return p
}

func (p *place) write(path, text string) *place {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(path, []byte(text), 0o644))
	return p
}

func (p *place) load() *config.Config {
	p.t.Helper()
	c, err := config.Load(p.settings)
	require.NoError(p.t, err)
	return c
}

func none(string) string { return "" }

// values gives what counts by key.
func values(c *config.Config) map[string]string {
	all := map[string]string{}
	for _, v := range c.Values() {
		all[v.Key] = v.Value
	}
	return all
}

func TestNothingIsConfigured(t *testing.T) {
	c := newPlace(t).load()
	require.Empty(t, c.Model()+c.Store())
	require.Empty(t, c.Providers())
	require.Empty(t, c.Values())
	require.Empty(t, c.Notices)
	table, err := c.Prices(prices.Builtin())
	require.NoError(t, err)
	require.Same(t, prices.Builtin(), table)

	c, err = config.Load("") // without a home
	require.NoError(t, err)
	require.ErrorIs(t, c.Trust(), config.ErrNoProject)
}

func TestAFileThatSaysNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# model: x\n", "---\n"} {
		p := newPlace(t)
		require.Empty(t, p.write(p.userFile, text).load().Values(), "%q", text)
	}
}

// The project's file comes before the user's, value by value; a key replaces a key.
func TestProjectBeforeUser(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile, `
model: acme/user
store: runs.db
env_file: user.env
providers:
  acme: {base_url: "http://acme.example/v1", key_env: ACME_KEY, limits: {rpm: 60, tpm: 9}}
  other: {base_url: "https://other.example/v1/"}
prices: {models: {acme/big: {input: 1, output: 1}, acme/small: {input: 2, output: 2}}}
`)
	p.write(filepath.Join(p.settings, "user.env"), "ONE=user\nTWO=user\nTHREE=user\n")
	p.write(p.projFile, `
model: acme/project
env_file: .env
providers:
  acme: {key_command: "printf '%s\\n' from-the-command", limits: {rpm: 6, max_in_flight: 2}, api: messages}
prices: {unit: usd_per_million_tokens, models: {acme/big: {input: 5, output: 5, window: 1000}}}
`)
	p.write(filepath.Join(p.project, ".env"), "ONE=project\nTWO=project\n")
	require.NoError(t, p.load().Trust())

	c := p.load()
	require.Empty(t, c.Notices)
	require.Equal(t, "acme/project", c.Model())
	require.Equal(t, filepath.Join(p.settings, "runs.db"), c.Store())
	env := c.Env(func(name string) string { return map[string]string{"ONE": "environment"}[name] })
	require.Equal(t, []string{"environment", "project", "user", ""}, []string{env("ONE"), env("TWO"), env("THREE"), env("FOUR")})

	acme := c.Providers()["acme"]
	require.Equal(t, "http://acme.example/v1", acme.BaseURL)
	require.Empty(t, acme.KeyEnv)
	require.Equal(t, llm.LimiterConfig{RequestsPerMinute: 6, TokensPerMinute: 9, MaxInFlight: 2}, acme.Limits)
	require.EqualValues(t, "messages", acme.API)
	key, err := acme.Key(t.Context())
	require.NoError(t, err)
	require.Equal(t, "from-the-command", key)
	require.Nil(t, c.Providers()["other"].Key)

	table, err := c.Prices(prices.Builtin())
	require.NoError(t, err)
	for model, input := range map[string]float64{"big": 5, "small": 2} {
		found, ok := table.Lookup("acme", model)
		require.True(t, ok)
		require.Equal(t, input, found.Rates[0].InputUSD)
	}
	shown := values(c)
	require.Equal(t, "printf …", shown["providers.acme.key_command"])
	require.NotContains(t, shown, "providers.acme.key_env")
}

// Mistakes are told with their place, all at once, and never with what may be a key.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"a key misspelt":     {"modell: x\n", []string{`config.yaml:1:1: unknown key "modell"; did you mean "model"?`}},
		"one within":         {"providers:\n  acme:\n    base_ulr: http://x\n", []string{`config.yaml:3:5: unknown key "base_ulr" in providers.acme; did you mean "base_url"?`}},
		"no mapping":         {"hello\n", []string{"config.yaml:1:1:", "a mapping, not text"}},
		"a key twice":        {"model: a\nmodel: b\n", []string{"2:1", "twice"}},
		"a provider twice":   {"providers:\n  a: {}\n  a: {}\n", []string{"3:3", "twice"}},
		"an address":         {"providers:\n  acme:\n    base_url: localhost:8080\n", []string{"3:15: base_url is no address"}},
		"a key":              {"providers:\n  acme:\n    key_env: sk-secret\n    api_key: sk-secret\n", []string{"3:14: key_env is the name", `4:5: unknown key "api_key"`}},
		"an API":             {"providers: {acme: {api: soap}}\n", []string{`the API "soap" is not known; those known are responses, messages, chat`}},
		"a limit of nothing": {"providers:\n  acme:\n    limits:\n      rpm: 0\n      tpm: 1.5\n      max_in_flight: many\n", []string{"4:12: rpm must be above 0", "5:12", "whole number", "6:22", "a number, not text"}},
		"the simulated one":  {"providers: {sim: {api: chat}}\n", []string{"sim is the simulated model"}},
		"a provider's name":  {"providers: {My Own: {}}\n", []string{"the name of a provider has"}},
		"a webhook's kind":   {"webhooks:\n  - {url: https://hooks.example, secret_env: A, kinds: [handoff]}\n", []string{`no events of the kind "handoff"; those that there are: agent_finished`}},
		"a unit":             {"prices:\n  unit: eur_per_token\n", []string{`2:9: unit "eur_per_token" is not known; prices are in usd_per_million_tokens`}},
		"prices":             {"prices:\n  models:\n    a/b: {input: 1, output: 2}\n    c/d: {input: 1}\n    e/f: {inptu: 1}\n    g/h: {input: -1, output: 1}\n", []string{`config.yaml:4:5: model "c/d": a price needs both`, `config.yaml:5:5: model "e/f"`, "inptu", `config.yaml:6:5: model "g/h"`, "negative"}},
		"no YAML":            {"model: [\n", []string{"config.yaml:1", "not valid YAML"}},
		"several":            {"model: 3\nstore: []\n", []string{"1:8: model must be text", "2:"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for _, path := range []string{p.userFile, p.projFile} {
				p.write(path, c.text)
				_, err := config.Load(p.settings)
				for _, text := range c.says {
					require.ErrorContains(t, err, text)
				}
				require.ErrorContains(t, err, path)
				require.NotContains(t, err.Error(), "secret")
				require.NoError(t, os.Remove(path))
			}
		})
	}
}

func TestFilesOfVariables(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile, "env_file: vars\n")
	p.write(filepath.Join(p.settings, "vars"), "\uFEFF# a comment\r\n\r\nexport A=1\nB = two words # behind\nC='it # is'\nD=\"quoted\" # so\nE=\nF=a=b#c\n")
	env := p.load().Env(none)
	for name, value := range map[string]string{"A": "1", "B": "two words", "C": "it # is", "D": "quoted", "E": "", "F": "a=b#c"} {
		require.Equal(t, value, env(name), name)
	}
	for text, says := range map[string]string{"A=1\nsk-secret\n": "vars:2: want NAME=VALUE", "A='secret\n": "vars:1: the quotes around the value of A"} {
		p.write(filepath.Join(p.settings, "vars"), text)
		_, err := config.Load(p.settings)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "secret")
	}
	require.NoError(t, os.Remove(filepath.Join(p.settings, "vars")))
	require.Empty(t, p.load().Env(none)("A"), "one that is not there has none")

	// No such file is read unasked.
	p.write(p.userFile, "model: sim\n").write(filepath.Join(p.project, ".env"), "A=1\n").write(filepath.Join(p.settings, ".env"), "A=1\n")
	require.Empty(t, p.load().Env(none)("A"))
}

func TestWhatIsShownHoldsNoSecret(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile, `providers:
  a: {base_url: "https://me:secret@a.example/v1?key=secret", key_command: "echo secret"}
  b: {base_url: "https://me:secret@${HOST}/v1"}
`)
	shown := values(p.load())
	require.Equal(t, map[string]string{
		"providers.a.base_url": "https://a.example/v1", "providers.a.key_command": "echo …", "providers.b.base_url": "https://${HOST}/v1",
	}, shown)
}

// Webhooks come with their secrets; a project's only once it is trusted.
func TestWebhooks(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile, `webhooks:
  - {url: "https://hooks.example/secret-path", secret_env: HOOK, kinds: [phase_changed], tenants: [a]}
  - {url: "http://127.0.0.1:9/x", secret_command: echo one two, private_host: 127.0.0.1}
`)
	p.write(p.projFile, "webhooks: [{url: https://project.example, secret_env: HOOK}]\n")
	env := func(name string) string { return map[string]string{"HOOK": "three"}[name] }
	c := p.load()
	p.write(p.userFile, "webhooks:\n  - url: http://hooks.example\n    secret_env: whsec_abc=\n  - url: https://hooks.example\n")
	_, err := loadErr(p)
	for _, says := range []string{"2:10: url begins with http://", "3:17: secret_env is the name", "4:5: a webhook has either secret_env"} {
		require.ErrorContains(t, err, says)
	}
	require.NotContains(t, err.Error(), "whsec_abc")
	require.Contains(t, strings.Join(c.Notices, "\n"), "webhooks[0].url")
	hooks, err := c.Webhooks(t.Context(), env)
	require.NoError(t, err)
	require.Equal(t, []webhook.Receiver{
		{URL: "https://hooks.example/secret-path", Secrets: []string{"three"}, Kinds: []events.Kind{events.KindPhaseChanged}, Tenants: []events.TenantID{"a"}},
		{URL: "http://127.0.0.1:9/x", Secrets: []string{"one", "two"}, PrivateHost: "127.0.0.1"},
	}, hooks)
	require.Equal(t, "https://hooks.example/…", values(c)["webhooks[0].url"])
	require.Equal(t, "echo …", values(c)["webhooks[1].secret_command"])
	_, err = c.Webhooks(t.Context(), none)
	require.ErrorContains(t, err, "webhooks[0].secret_env in "+p.userFile+": the variable HOOK is not set")
	p.write(p.userFile, "webhooks: [{url: https://project.example, secret_env: OTHER}]\n")
	require.NoError(t, c.Trust())
	hooks, err = p.load().Webhooks(t.Context(), env)
	require.NoError(t, err)
	require.Equal(t, []webhook.Receiver{{URL: "https://project.example", Secrets: []string{"three"}}}, hooks, "the project's comes before the user's")
}

func TestCommandsThatPrintNoKey(t *testing.T) {
	for command, says := range map[string]string{
		"echo secret; exit 3":         "exit status 3",
		"true":                        "printed nothing",
		"no-such-command-secret":      "exit status",
		"yes secret | head -c 100000": "printed more than",
	} {
		p := newPlace(t)
		p.write(p.userFile, "providers: {a: {key_command: "+`"`+command+`"`+"}}\n")
		_, err := p.load().Providers()["a"].Key(t.Context())
		require.ErrorContains(t, err, says, command)
		require.ErrorContains(t, err, "providers.a.key_command in "+p.userFile)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestTheSchemaIsUpToDate(t *testing.T) {
	committed, err := os.ReadFile(filepath.Join("schema", "config.schema.json"))
	require.NoError(t, err)
	require.Equal(t, string(config.JSONSchema()), string(committed), "run go generate ./cmd/internal/config")
}

func loadErr(p *place) (*config.Config, error) { return config.Load(p.settings) }

// What the documentation shows is a file that counts whole.
func TestTheFileOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "```yaml config.yaml\nmodel:")
	require.True(t, found)
	sample, _, _ := strings.Cut(after, "```")
	p := newPlace(t)
	c := p.write(p.userFile, "model:"+sample).load()
	require.Equal(t, "acme/big", c.Model())
	require.Equal(t, 600, c.Providers()["acme"].Limits.RequestsPerMinute)
	table, err := c.Prices(prices.Builtin())
	require.NoError(t, err)
	require.EqualValues(t, 200000, table.Get("acme/big").Window)
}

// Neither a file nor its variables make the reader panic, and what was read can be
// used.
func FuzzFiles(f *testing.F) {
	f.Add("model: a\nproviders: {a: {base_url: http://x, limits: {rpm: 1}}}\nprices: {models: {a/b: {input: 1, output: 2}}}", "A=1\nexport B='x'")
	f.Add("env_file: [", "=\n\"")
	f.Add("&a {model: *a}", "A='")
	dir := f.TempDir()
	f.Setenv("HOME", dir)
	f.Chdir(dir)
	f.Fuzz(func(t *testing.T, text, variables string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("env_file: vars\n"+text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "vars"), []byte(variables), 0o600))
		c, err := config.Load(dir)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		c.Values()
		c.Providers()
		c.Env(none)("A")
		_, err = c.Prices(prices.Builtin())
		require.NoError(t, err)
	})
}

// A command that does not end is ended with its call.
func TestACommandThatHangs(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile, "providers: {a: {key_command: exec sleep 600}}\n")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := p.load().Providers()["a"].Key(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// What the schema refuses the reader refuses too: an editor never marks a good file.
func TestTheSchemaAgreesWithTheReader(t *testing.T) {
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(config.JSONSchema(), &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	p := newPlace(t)
	for text, good := range map[string]bool{
		"providers: {a: {base_url: http://h/v1, key_env: A, key_command: b c, api: chat, limits: {rpm: 1, tpm: 2, max_in_flight: 3}}}": true,
		"model: sim\nstore: x.db\nenv_file: .env\n":                                                                             true,
		"prices: {models: {a: {rates: [{input: 1, output: 2.5, above: 3, tier: flex, from: 2026-09-01}]}}}":                     true,
		"prices: {models: {a: {also: [b], window: 5, input: 0.1, output: 1, cache_write_1h: 2}}, unit: usd_per_million_tokens}": true,
		"webhooks: [{url: https://h.example/x, secret_env: A, kinds: [phase_changed], tenants: [a]}]":                           true,
		"webhooks: [{url: http://h, secret_command: a b, private_host: h}]":                                                     true,
		"webhooks: [{secret_env: A}]":                             false,
		"webhooks: [{url: ftp://h, secret_env: A}]":               false,
		"webhooks: [{url: https://h, secret_env: A, kinds: [x]}]": false,
		"modell: sim":                                          false,
		"providers: {sim: {api: chat}}":                        false,
		"providers: {A b: {api: chat}}":                        false,
		"providers: {a: {api: soap}}":                          false,
		"providers: {a: {base_url: localhost}}":                false,
		"providers: {a: {key_env: sk-1}}":                      false,
		"providers: {a: {limits: {rpm: 0}}}":                   false,
		"providers: {a: {limits: {rpm: 1.5}}}":                 false,
		"prices: {unit: eur}":                                  false,
		"prices: {models: {a: {input: -1, output: 1}}}":        false,
		"prices: {models: {a: {inptu: 1}}}":                    false,
		"prices: {models: {a: {rates: [{input: 1}, {x: 1}]}}}": false,
	} {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(text), &value))
		p.write(p.userFile, text)
		_, err := loadErr(p)
		require.Equal(t, good, err == nil, "%s: %v", text, err)
		require.Equal(t, good, resolved.Validate(value) == nil, "%s: %v", text, resolved.Validate(value))
	}
}
