package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/effort"
	"github.com/convene-run/convene/team"
)

// tuneFlags say how the models of all agents are asked, before what the team says.
type tuneFlags struct {
	effort      string
	output      int
	temperature float64
	tier        string
	silence     time.Duration
}

func (f *tuneFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.effort, "effort", "", "reasoning effort of every agent's model: "+names(effort.Levels())+" (default: the team's, or the model's own)")
	flags.IntVar(&f.output, "max-output-tokens", 0, "maximum tokens per reply, thinking included (default: the team's, or the model's maximum)")
	flags.Float64Var(&f.temperature, "temperature", 0, "sampling temperature, 0 to 2 (default: the team's, or the model's own)")
	flags.StringVar(&f.tier, "tier", "", "service tier, if the provider offers it: "+names(team.Tiers())+"; flex is cheaper and may queue for minutes (default: the team's, or the provider's own)")
	flags.DurationVar(&f.silence, "silence-timeout", 0, "how long a reply or a tool may stay silent, such as 5m (default: the team's, or 2m, then 10m once a reply has begun)")
	_ = c.RegisterFlagCompletionFunc("effort", cobra.FixedCompletions(effort.Levels(), cobra.ShellCompDirectiveNoFileComp)) // these fail only for a flag that is not there
	_ = c.RegisterFlagCompletionFunc("tier", cobra.FixedCompletions(team.Tiers(), cobra.ShellCompDirectiveNoFileComp))
}

// teams gives a way to find teams whose agents are asked as the flags say.
func (f *tuneFlags) teams(c *cobra.Command) (func(name string) (*team.Team, error), error) {
	by, err := f.tuning(c)
	return func(name string) (*team.Team, error) {
		t, err := team.Resolve(name)
		if err != nil {
			return nil, err
		}
		return t.Tuned(by), nil
	}, err
}

// tuning gives what the flags set.
func (f *tuneFlags) tuning(c *cobra.Command) (team.Tuning, error) {
	if err := aboveZero(c, "max-output-tokens", "silence-timeout"); err != nil {
		return team.Tuning{}, err
	}
	t := team.Tuning{
		Effort: f.effort, MaxOutputTokens: f.output, Tier: llm.Tier(f.tier), SilenceTimeout: team.Duration(f.silence),
	}
	if c.Flags().Changed("temperature") {
		t.Temperature = &f.temperature
	}
	var wrong []error
	for _, problem := range t.Check() {
		flag := "--" + strings.ReplaceAll(problem.Path, "_", "-")
		text, named := strings.CutPrefix(problem.Message, problem.Path)
		if !named {
			text = ": " + text
		}
		wrong = append(wrong, errors.New(flag+text))
	}
	return t, errors.Join(wrong...)
}
