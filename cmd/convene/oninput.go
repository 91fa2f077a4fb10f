package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/convene-run/convene/runner"
)

// onInput is the value of --on-input; "" where it was not given.
type onInput runner.OnInput

func (o *onInput) register(c *cobra.Command, usual string) {
	c.Flags().Var(o, "on-input", "what to do if an agent asks a person for something: park the run, fail, or answer:TEXT (default: "+usual+")")
	_ = c.RegisterFlagCompletionFunc("on-input", cobra.FixedCompletions([]string{"park", "fail", "answer:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)) // fails only for a flag that is not there
}

// Set implements [pflag.Value].
func (o *onInput) Set(text string) error {
	if text == "" {
		text = " " // a policy that nobody knows
	}
	*o = onInput(text)
	return runner.OnInput(text).Check()
}

// Type implements [pflag.Value].
func (o *onInput) Type() string { return "policy" }

// String implements [pflag.Value].
func (o *onInput) String() string { return string(*o) }

var _ pflag.Value = (*onInput)(nil)
