package llm

import "time"

// bucket is a budget that refills with time. What is larger than the whole bucket
// is admitted when it is full and paid off afterwards. A nil bucket allows
// everything.
type bucket struct {
	rate, size float64 // a second, and at most
	level      float64 // below zero: debt
	at         time.Time
}

// newBucket makes a full bucket of burst seconds of its rate, of one unit at least.
func newBucket(rate, burst float64, now time.Time) *bucket {
	size := max(rate*burst, 1)
	return &bucket{rate: rate, size: size, level: size, at: now}
}

func (b *bucket) refill(now time.Time) {
	if gone := now.Sub(b.at); gone > 0 {
		b.level = min(b.size, b.level+gone.Seconds()*b.rate)
		b.at = now
	}
}

// wait tells how long until n may be taken.
func (b *bucket) wait(n float64, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.refill(now)
	const rounding = 1e-6 // of a unit, lost in the conversions to nanoseconds
	lacks := min(n, b.size) - b.level - rounding
	if lacks <= 0 {
		return 0
	}
	return time.Duration(lacks/b.rate*float64(time.Second)) + 1
}

// take takes n, or gives it back where n is negative.
func (b *bucket) take(n float64, now time.Time) {
	if b != nil {
		b.refill(now)
		b.level = min(b.size, b.level-n)
	}
}
