package main

import "testing"

func TestBatchesOfFewRowsAtOnceHaveHeadroom(t *testing.T) {
	for _, c := range []struct {
		rows int
		set  string // variable of the environment
		want int
	}{
		{1, "", headroomBytes},
		{headroomRows, "", headroomBytes},
		{headroomRows + 1, "", 0},
		{1, "GOGC", 0},
		{1, "GOMEMLIMIT", 0},
	} {
		a := &app{env: func(name string) string {
			if name == c.set {
				return "100"
			}
			return ""
		}}
		if got := len(a.headroom(c.rows)); got != c.want {
			t.Errorf("%d rows at once, %s set: %d bytes, want %d", c.rows, c.set, got, c.want)
		}
	}
}
