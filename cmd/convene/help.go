package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
)

func newHelpCommand(root *cobra.Command) *cobra.Command {
	return unconfigured(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Describe a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
			if c, rest, err := root.Find(args); err == nil && len(rest) == 0 {
				for _, sub := range c.Commands() {
					if sub.IsAvailableCommand() {
						found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				c, rest = root, args
			}
			if err := unknownCommand(c, rest); err != nil {
				return usage(err)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	})
}

// fitHelp sets the help of all commands in lines of the terminal that it is shown on.
func (a *app) fitHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if !a.theme(a.out).Screen {
			show(c, args)
			return
		}
		var text strings.Builder
		c.SetOut(&text)
		show(c, args)
		c.SetOut(a.out)
		fmt.Fprint(a.out, termview.HelpText(text.String(), width(a.out)))
	})
}
