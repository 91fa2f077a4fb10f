package fill

import "math"

// interval is where a number may be.
type interval struct {
	low, high    float64 // infinite where open
	above, below bool    // the bound itself is out
	multiples    []float64
	integer      bool
}

func (b *build) interval(integer bool) interval {
	in := interval{low: math.Inf(-1), high: math.Inf(1), integer: integer}
	for _, s := range b.goals {
		if s.Minimum != nil && *s.Minimum > in.low {
			in.low, in.above = *s.Minimum, false
		}
		if s.ExclusiveMinimum != nil && *s.ExclusiveMinimum >= in.low {
			in.low, in.above = *s.ExclusiveMinimum, true
		}
		if s.Maximum != nil && *s.Maximum < in.high {
			in.high, in.below = *s.Maximum, false
		}
		if s.ExclusiveMaximum != nil && *s.ExclusiveMaximum <= in.high {
			in.high, in.below = *s.ExclusiveMaximum, true
		}
		if s.MultipleOf != nil {
			in.multiples = append(in.multiples, *s.MultipleOf)
		}
	}
	return in
}

func (in interval) has(v float64) bool {
	return v >= in.low && v <= in.high && !(in.above && v == in.low) && !(in.below && v == in.high)
}

// fraction reports whether a number must be looked for between the integers.
func (b *build) fraction() bool {
	in := b.interval(true)
	_, ok := in.nth(0)
	return !ok
}

// number gives a number within the bounds: the nth that fits for the nth variant.
func (b *build) number(integer bool) (any, bool) {
	in := b.interval(integer)
	if v, ok := in.nth(b.variant + b.try); ok {
		return v, true
	}
	if v, ok := in.nth(b.try % 8); ok {
		return v, true
	}
	if integer || len(in.multiples) > 0 || in.low > in.high {
		return nil, false
	}
	// Between two bounds that no step meets.
	share := float64((b.variant+b.try)%15+1) / 16
	return in.low + (in.high-in.low)*share, true
}

// maxSteps bounds the multiples that are looked at for one that fits all bounds.
const maxSteps = 10_000

// nth gives the nth number that is a whole number of steps and within the bounds:
// from the lower bound up, or else from the upper bound down, or else from 1.
func (in interval) nth(n int) (float64, bool) {
	step := 1.0
	for i, m := range in.multiples {
		if m = math.Abs(m); i == 0 || m > step {
			step = m
		}
	}
	if in.integer {
		step = math.Max(step, 1)
	}
	start, direction := step, 1.0
	switch {
	case !math.IsInf(in.low, 0) && (in.low > 0 || in.high < 1 || !in.has(step)):
		start = math.Ceil(in.low/step) * step
	case !math.IsInf(in.high, 0) && in.high < step:
		start, direction = math.Floor(in.high/step)*step, -1
	}
	for i := range maxSteps {
		v := math.Round(start/step+direction*float64(i)) * step
		if direction > 0 && v > in.high || direction < 0 && v < in.low {
			return 0, false
		}
		if !in.has(v) || in.integer && v != math.Trunc(v) || !in.multiple(v) {
			continue
		}
		if n == 0 {
			return v, true
		}
		n--
	}
	return 0, false
}

func (in interval) multiple(v float64) bool {
	for _, m := range in.multiples {
		if q := v / m; math.Abs(q-math.Round(q)) > 1e-9 {
			return false
		}
	}
	return true
}
