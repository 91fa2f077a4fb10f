package prices_test

import (
	"fmt"
	"log"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/prices"
)

// A table of one's own on top of the built-in one.
func ExampleTable_Cost() {
	own, err := prices.Parse([]byte(`{"models": {"acme/big": {"input": 2, "output": 8}}}`))
	if err != nil {
		log.Fatal(err)
	}
	table := prices.Builtin().With(own)
	call := prices.Call{Usage: events.Usage{InputTokens: 1_000_000, OutputTokens: 500_000}, At: time.Now()}
	fmt.Println(*table.Cost("acme", "big", call))
	fmt.Println(table.Cost("acme", "unheard-of", call)) // an unknown price is never zero
	// Output:
	// 6
	// <nil>
}
