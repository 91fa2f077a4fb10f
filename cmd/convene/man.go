//go:build man

package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// The man pages are written by a build of their own, for a release: what writes them is no
// part of the program.
func init() {
	addManCommand = func(root *cobra.Command) {
		root.AddCommand(unconfigured(&cobra.Command{
			Use: "man DIR", Hidden: true, Args: cobra.ExactArgs(1),
			Short: "Write the man pages into a directory",
			RunE: func(_ *cobra.Command, args []string) error {
				date := time.Unix(0, 0).UTC() // a release gives its own
				if given, err := time.Parse(time.RFC3339, os.Getenv("MAN_DATE")); err == nil {
					date = given
				}
				root.DisableAutoGenTag = true
				return doc.GenManTree(root, &doc.GenManHeader{Title: "CONVENE", Section: "1", Source: "convene", Manual: "convene", Date: &date}, args[0])
			},
		}))
	}
}
