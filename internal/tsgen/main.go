// Command tsgen writes the TypeScript types of the events, from the Go structs.
//
//	go run ./internal/tsgen web/src/events.ts
package main

import (
	"fmt"
	"os"

	"github.com/convene-run/convene/internal/tsgen/types"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tsgen FILE")
		os.Exit(2)
	}
	source, err := types.Generate()
	if err == nil {
		err = os.WriteFile(os.Args[1], source, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tsgen:", err)
		os.Exit(1)
	}
}
