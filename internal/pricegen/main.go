// Command pricegen writes the built-in table of prices from public data:
//
//	go run ./internal/pricegen data_slim.json 2026-08-21 > prices/table.json
//
// The file is prices/data_slim.json of pydantic/genai-prices, the day that of its
// commit. Facts are taken over, nothing else.
package main

import (
	"fmt"
	"os"

	"github.com/convene-run/convene/prices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pricegen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: pricegen data_slim.json YYYY-MM-DD")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	table, err := prices.FromGenAI(data, args[1])
	if err != nil {
		return err
	}
	own, err := prices.Parse([]byte(`{"models": {"sim/*": {"window": 128000, "simulated": true, "web_search": 10, "input": 0.1, "output": 0.4},
		"script/*": {"window": 128000, "simulated": true, "input": 0, "output": 0}}}`))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(table.With(own).Encode())
	return err
}
