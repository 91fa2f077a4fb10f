// Command schemagen writes the JSON Schema of files of tenants to the file that its
// argument names. `go generate ./tenants` runs it.
package main

import (
	"fmt"
	"os"

	"github.com/convene-run/convene/tenants"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemagen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], tenants.JSONSchema(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}
