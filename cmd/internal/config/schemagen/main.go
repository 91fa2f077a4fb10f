// Command schemagen writes the JSON Schema of configuration files to the file that its
// argument names. `go generate ./cmd/internal/config` runs it.
package main

import (
	"fmt"
	"os"

	"github.com/convene-run/convene/cmd/internal/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemagen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], config.JSONSchema(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}
