package main

import (
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/llm/endpoint"
)

// addAPIFlag gives every command that asks models, and so takes --base-url, the flag
// for how they are asked.
func (a *app) addAPIFlag(c *cobra.Command) {
	if c.Flags().Lookup("base-url") != nil {
		c.Flags().StringVar(&a.flags.api, "api", "", "API to use for every model: "+names(endpoint.APIs())+" (default: the provider's preferred one)")
	}
	for _, sub := range c.Commands() {
		a.addAPIFlag(sub)
	}
}
