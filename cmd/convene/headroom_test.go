package main

import (
	"runtime/debug"
	"testing"
)

func TestBatchesOfManyRowsAtOnceAreFrugal(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, c := range []struct {
		rows int
		set  string // variable of the environment
		want int
	}{
		{manyRows - 1, "", 100},
		{manyRows, "", manyRowsPercent},
		{manyRows, "GOGC", 100},
		{manyRows, "GOMEMLIMIT", 100},
	} {
		a := &app{env: func(name string) string {
			if name == c.set {
				return "100"
			}
			return ""
		}}
		restore := a.frugal(c.rows)
		got := debug.SetGCPercent(-1)
		debug.SetGCPercent(got)
		restore()
		if restored := debug.SetGCPercent(100); got != c.want || restored != 100 {
			t.Errorf("%d rows at once, %s set: %d percent, then %d, want %d, then 100", c.rows, c.set, got, restored, c.want)
		}
	}
}
