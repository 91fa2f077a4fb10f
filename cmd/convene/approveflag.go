package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/convene-run/convene/runner"
)

// approve is the value of --approve; "" where it was not given.
type approve runner.Approve

func (a *approve) register(c *cobra.Command, usual string) {
	c.Flags().Var(a, "approve", "who decides on tool calls that wait for approval: deny them, park the run until somebody decides, or run them all (default: "+usual+")")
	_ = c.RegisterFlagCompletionFunc("approve", cobra.FixedCompletions([]string{"deny", "park", "all"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
}

// Set implements [pflag.Value].
func (a *approve) Set(text string) error {
	if text == "" {
		text = " " // a policy that nobody knows
	}
	*a = approve(text)
	return runner.Approve(text).Check()
}

// Type implements [pflag.Value].
func (a *approve) Type() string { return "policy" }

// String implements [pflag.Value].
func (a *approve) String() string { return string(*a) }

var _ pflag.Value = (*approve)(nil)
