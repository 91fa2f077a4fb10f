package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inOurWords has commands, and those below them, say what is wrong with their arguments in
// the words of their usage.
func inOurWords(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || c.HasSubCommands() {
				return err
			}
			return wrongArguments(c, args)
		}
	}
	for _, sub := range c.Commands() {
		inOurWords(sub)
	}
}

func wrongArguments(c *cobra.Command, args []string) error {
	wanted := strings.TrimSpace(strings.TrimPrefix(c.Use, c.Name()))
	switch {
	case wanted == "":
		return fmt.Errorf("%s takes no arguments, and got %q", c.CommandPath(), args[0])
	case len(args) == 0:
		return fmt.Errorf("%s needs %s", c.CommandPath(), wanted)
	case len(args) == 1:
		return fmt.Errorf("%s takes %s, and got %q alone", c.CommandPath(), wanted, args[0])
	}
	return fmt.Errorf("%s takes %s, and got %d arguments. Quote what belongs together", c.CommandPath(), wanted, len(args))
}

// exclusive refuses flags that were set together and exclude each other.
func exclusive(c *cobra.Command) error {
	if c.ValidateFlagGroups() == nil {
		return nil
	}
	var together []string
	c.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusiveGroups] {
			for name := range strings.FieldsSeq(group) {
				if name != f.Name && c.Flags().Changed(name) && len(together) == 0 {
					together = []string{"--" + f.Name, "--" + name}
				}
			}
		}
	})
	slices.Sort(together)
	return fmt.Errorf("%s cannot be used together", strings.Join(together, " and "))
}

// exclusiveGroups is where cobra notes what [cobra.Command.MarkFlagsMutuallyExclusive] said.
const exclusiveGroups = "cobra_annotation_mutually_exclusive"

// unknownCommand refuses words that are no command.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q", args[0])
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		message += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return errors.New(message)
}

// flagError says what is wrong with a flag, and adds the flag that may be meant to the error
// of one that is not there.
func flagError(c *cobra.Command, err error) error {
	var (
		missing *pflag.NotExistError
		bare    *pflag.ValueRequiredError
		wrong   *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &missing):
		name := missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" {
			return usage(fmt.Errorf("unknown flag: -%s", name))
		}
		if near := nearestFlag(c, name); near != "" {
			return usage(fmt.Errorf("unknown flag: --%s; did you mean --%s?", name, near))
		}
		return usage(fmt.Errorf("unknown flag: --%s", name))
	case errors.As(err, &bare):
		return usage(fmt.Errorf("--%s needs a value", bare.GetFlag().Name))
	case errors.As(err, &wrong):
		return usage(fmt.Errorf("--%s %q: %s", wrong.GetFlag().Name, wrong.GetValue(), wantedBy(wrong)))
	}
	return usage(err)
}

// wantedBy says what a flag takes that got something else.
func wantedBy(wrong *pflag.InvalidValueError) string {
	kind, cause := wrong.GetFlag().Value.Type(), wrong.Unwrap().Error()
	switch {
	case errors.Is(wrong, strconv.ErrRange):
		return "the number is too large"
	case kind == "int" || kind == "int64":
		if errors.Is(wrong, strconv.ErrSyntax) {
			return "want a whole number"
		}
	case kind == "float64":
		return "want a number, such as 0.5"
	case kind == "duration" && strings.HasPrefix(cause, "time: "):
		return "want a time such as 30s, 10m or 1h30m"
	case kind == "bool":
		return "want true or false"
	}
	return cause // of a kind of our own
}

// nearestFlag finds the flag that begins as name does, or is at most two edits away and like it in
// more than half of its letters.
func nearestFlag(c *cobra.Command, name string) string {
	best, fewest := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		n := edits(name, f.Name)
		if len(name) > 2 && strings.HasPrefix(f.Name, name) {
			n = 1
		}
		if n < fewest && 2*n < len(name) {
			best, fewest = f.Name, n
		}
	})
	return best
}

// edits counts the letters to insert, delete or change between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
