package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/prices"
)

func newModelsCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "models [FILTER]",
		Short: "List models with their prices and context windows",
		Long: `List the models with known prices, in US dollars per million tokens, and their context
windows. FILTER is part of a name. Rates for service tiers, for longer requests and from
later dates are listed on separate lines.

Prices are built in; ` + "`convene models update`" + ` loads newer ones from a file. prices: in
the configuration, or a file of your own given with --prices, overrides both:

  {"models": {"acme/big": {"input": 2, "cached_input": 0.2, "output": 8, "window": 200000},
              "ollama/*": {"input": 0, "output": 0}}}`,
		Example: `  convene models gpt-5
  convene models anthropic/ --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.listModels(strings.Join(args, ""), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write one JSON line per model")
	c.AddCommand(newModelsUpdateCommand(a))
	return c
}

func newModelsUpdateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "update FILE",
		Short: "Load newer prices from a file",
		Long: `Load newer prices from a file: prices/data_slim.json of github.com/pydantic/genai-prices,
which is kept up to date there, or a table in the format of --prices. The result is saved
with your other settings and applies from the next command on. convene itself downloads
nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.updateModels(args[0]) },
	}
}

func (a *app) listModels(filter string, asJSON bool) error {
	table, err := a.prices()
	if err != nil {
		return usage(err)
	}
	filter = strings.ToLower(filter)
	rows := [][]string{{"MODEL", "WINDOW", "INPUT", "CACHED", "WRITE", "OUTPUT", "SEARCH", "WHEN"}}
	for _, name := range table.Names() {
		model := table.Get(name)
		if name = strings.TrimPrefix(name, "/"); !strings.Contains(strings.ToLower(name), filter) {
			continue
		}
		if asJSON {
			if err := a.printModel(name, model); err != nil {
				return err
			}
		}
		rows = append(rows, modelRows(name, model)...)
	}
	if len(rows) == 1 {
		return usage(fmt.Errorf("no model whose price is known has %q in its name. Give it a price with --prices FILE", filter))
	}
	if asJSON {
		return nil
	}
	for _, line := range termview.Columns(rows, width(a.out)) {
		fmt.Fprintln(a.out, line)
	}
	fmt.Fprintf(a.err, "US dollars per million tokens, and per 1,000 web searches by the provider, as of %s\n", table.AsOf)
	return nil
}

// modelRows are the lines of a model: one for each of its rates.
func modelRows(name string, model *prices.Model) [][]string {
	var rows [][]string
	window := "?"
	if model.Window > 0 {
		window = termview.Count(int64(model.Window))
	}
	for i := range model.Rates {
		r := &model.Rates[i]
		row := []string{name, window, figure(&r.InputUSD), figure(r.CachedInputUSD), figure(r.CacheWriteUSD), figure(&r.OutputUSD), figure(model.WebSearchUSD), conditions(r, model)}
		if i > 0 {
			row[0], row[1] = "", ""
		}
		rows = append(rows, row)
	}
	return rows
}

func figure(usd *float64) string {
	if usd == nil {
		return "-"
	}
	return fmt.Sprintf("%.6g", *usd)
}

// conditions says when a rate holds.
func conditions(r *prices.Rate, model *prices.Model) string {
	var parts []string
	if r.Tier != prices.Standard {
		parts = append(parts, string(r.Tier))
	}
	if r.Above > 0 {
		parts = append(parts, "above "+termview.Count(r.Above)+" input tokens")
	}
	if r.From != "" {
		parts = append(parts, "from "+r.From)
	}
	if model.Simulated {
		parts = append(parts, "made up")
	}
	return strings.Join(parts, ", ")
}

func (a *app) printModel(name string, model *prices.Model) error {
	line, err := json.Marshal(struct {
		Name string `json:"model"`
		*prices.Model
	}{name, model})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, string(line))
	return err
}

func (a *app) updateModels(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return usage(unreadable(file, err))
	}
	table, err := prices.Parse(data)
	if err != nil {
		info, statErr := os.Stat(file)
		if statErr != nil {
			return usage(statErr)
		}
		// The public data has no day of its own; the file's is as near as can be known.
		public, publicErr := prices.FromGenAI(data, info.ModTime().UTC().Format(time.DateOnly))
		if publicErr != nil {
			return usage(fmt.Errorf("%s: %w; and it is not a price table: %w", file, publicErr, err))
		}
		table = public
	}
	path, err := pricesPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := writeOutput(path, table.Encode()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "loaded prices of %d models, as of %s\nsaved to %s; remove it to return to the built-in ones\n", len(table.Names()), table.AsOf, path)
	return err
}

// pricesPath is where newer prices are kept.
func pricesPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "convene", "prices.json"), nil
}

// prices gives the table that counts: the built-in one, under newer ones, under those of
// the configuration, under those of --prices.
func (a *app) prices() (*prices.Table, error) {
	table := prices.Builtin()
	if path, err := pricesPath(); err == nil { // without a home there are none
		switch over, err := readPrices(path); {
		case err == nil:
			table = table.With(over)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	table, err := a.config.Prices(table)
	if err != nil || a.flags.prices == "" {
		return table, err
	}
	over, err := readPrices(a.flags.prices)
	if err != nil {
		return nil, fmt.Errorf("--prices %w", err)
	}
	return table.With(over), nil
}

func readPrices(path string) (*prices.Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	table, err := prices.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return table, nil
}
