package main

import "github.com/spf13/cobra"

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
