package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/config"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/toolbox"
)

// Annotations of commands: those that read no configuration, or tell of it themselves, and
// those that choose first how notices are told.
const (
	withoutConfig = "without configuration"
	ownNotices    = "own notices"
)

// unconfigured marks a command and those below it.
func unconfigured(c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{withoutConfig: "true"}
	for _, sub := range c.Commands() {
		unconfigured(sub)
	}
	return c
}

// configure reads the configuration before a command begins, and says what of it has no
// effect.
func (a *app) configure(c *cobra.Command) error {
	if !c.Runnable() || c.Annotations[withoutConfig] != "" {
		return nil
	}
	loaded, err := loadConfig()
	if err != nil {
		return usage(err)
	}
	a.config, a.env = loaded, loaded.Env(a.env)
	a.toolbox = toolbox.New(toolbox.Config{
		Consented: a.consented, Confirmed: loaded.Confirmed, Env: a.env, Extract: a.extractor().File, Traceparent: a.traceparent, SignIns: loaded,
	})
	if c.Annotations[ownNotices] == "" {
		a.sayNotices(loaded)
	}
	return nil
}

func loadConfig() (*config.Config, error) {
	dir, err := config.UserDir()
	if err != nil {
		dir = "" // without a home there is no user's file
	}
	return config.Load(dir)
}

func newConfigCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration, and where each value comes from",
		Long: `Show the configuration, each value with the file it comes from. Settings take precedence
in this order: flags, the environment, the project's file (.convene/config.yaml, in this
directory or in the nearest parent that has one), the user's file
(` + "`convene config path`" + `). For example:

  model: acme/big
  providers:
    acme:
      base_url: https://models.acme.example/v1
      key_env: ACME_KEY            # or key_command: pass show acme
      limits: {rpm: 600, tpm: 1000000, max_in_flight: 32}
  prices:
    models:
      acme/big: {input: 2, output: 8, window: 200000}
  store: ~/runs/convene.db
  env_file: .env                   # read only because it is named here

A project's file is used only if you own it. Its store, env_file, base_url, key_env and
key_command have no effect until you have read it and run convene config trust. Keys are
never shown.`,
		Args: unknownCommand,
		RunE: func(*cobra.Command, []string) error { return a.showConfig(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	c.AddCommand(newConfigPathCommand(a), newConfigTrustCommand(a))
	return unconfigured(c)
}

func newConfigPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the user's file, whether or not it exists",
		Example: `  $EDITOR "$(convene config path)"`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := config.UserDir()
			if err != nil {
				return usage(err)
			}
			_, err = fmt.Fprintln(a.out, config.UserFile(dir))
			return err
		},
	}
}

func newConfigTrustCommand(a *app) *cobra.Command {
	var revoke bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Trust the whole of the project's configuration, until it changes",
		Long: `Trust the whole of the project's configuration, including key_command, key_env,
base_url, store and env_file. Read it first: it can run commands and send your keys
elsewhere. Trust applies to this path and this content, including the content of the
env_file; if either changes, the file must be trusted again.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.trustConfig(revoke) },
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "stop trusting it")
	return c
}

func (a *app) trustConfig(revoke bool) error {
	c, err := loadConfig()
	if err != nil {
		return usage(err)
	}
	change, done := c.Trust, "trusted until it changes; convene config trust --revoke takes that back"
	if revoke {
		change, done = c.Revoke, "not trusted any more"
	}
	if err := change(); err != nil {
		if errors.Is(err, config.ErrNoProject) {
			a.sayNotices(c)
		}
		return usage(err)
	}
	files := c.Files()
	fmt.Fprintf(a.out, "%s: %s\n", files[len(files)-1].Path, done)
	if revoke {
		return nil
	}
	for _, v := range c.Trusting() {
		fmt.Fprintf(a.out, "  %s: %s\n", v.Key, termview.Line(v.Value))
	}
	return nil
}

func (a *app) sayNotices(c *config.Config) {
	for _, notice := range c.Notices {
		a.say(termview.Line(notice))
	}
}

func (a *app) showConfig(asJSON bool) error {
	c, err := loadConfig()
	if err != nil {
		return usage(err)
	}
	a.config, a.env = c, c.Env(a.env)
	values := a.values()
	if asJSON {
		text, err := json.Marshal(struct {
			Files  []config.File  `json:"files"`
			Values []config.Value `json:"values"`
		}{c.Files(), values})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.out, string(text))
		return err
	}
	for _, f := range c.Files() {
		fmt.Fprintln(a.out, configState(f))
	}
	fmt.Fprintln(a.out)
	columns := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, v := range values {
		fmt.Fprintf(columns, "%s\t%s\t%s\n", v.Key, termview.Line(v.Value), termview.Line(v.From))
	}
	err = columns.Flush()
	a.sayNotices(c)
	return err
}

// configState says how it is with a file.
func configState(f config.File) string {
	state := "not there"
	switch {
	case f.Exists && f.Scope == config.User, f.Exists && f.Trusted, f.Exists && len(f.Ignored) == 0:
		state = "counts"
	case f.Exists && f.Changed:
		state = "changed since it was trusted, counts in part"
	case f.Exists:
		state = "not trusted, counts in part"
	}
	return fmt.Sprintf("%-8s %s (%s)", f.Scope, termview.Line(f.Path), state)
}

// values lists what counts: what the files say, under flags and the environment.
func (a *app) values() []config.Value {
	over := map[string]config.Value{}
	set := func(key, value, from string) {
		if value != "" {
			over[key] = config.Value{Key: key, Value: value, From: from}
		}
	}
	set("model", a.env("CONVENE_MODEL"), "CONVENE_MODEL")
	for _, provider := range endpoint.Providers() {
		for _, name := range endpoint.AddressVariables(provider) {
			set("providers."+provider+".base_url", config.ShownURL(a.env(name)), name)
		}
	}
	set("store", a.storePath(), "default")
	switch {
	case a.flags.store != "":
		set("store", a.flags.store, "--store")
	case a.env("CONVENE_STORE") != "":
		set("store", a.env("CONVENE_STORE"), "CONVENE_STORE")
	case a.config.Store() != "":
		delete(over, "store")
	}
	var values []config.Value
	for _, v := range a.config.Values() {
		if o, ok := over[v.Key]; ok {
			v = o
			delete(over, v.Key)
		}
		values = append(values, a.withKeyState(v))
	}
	for _, v := range over {
		values = append(values, v)
	}
	return config.Sorted(values)
}

// withKeyState adds to the name of a key's variable whether it is set.
func (a *app) withKeyState(v config.Value) config.Value {
	if strings.HasSuffix(v.Key, ".key_env") {
		state := " (not set)"
		if a.env(v.Value) != "" {
			state = " (set)"
		}
		v.Value += state
	}
	return v
}
