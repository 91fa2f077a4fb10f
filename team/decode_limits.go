package team

import (
	"time"

	"github.com/convene-run/convene/events"
)

// limits reads the bounds by name: times as text, all else as numbers.
func (d *decoder) limits(n *node, path string, target *Limits) {
	if !d.wants(n, path, kindMapping) {
		return
	}
	keys := make([]string, len(bounds))
	for i, b := range bounds {
		keys[i] = string(b.Name)
		n.rename(string(former[b.Name]), keys[i])
	}
	for _, p := range d.knownPairs(n, path, keys) {
		at := under(path, p.key)
		d.places[at] = p.value.at
		b, _ := findBound(events.Limit(p.key))
		value, ok := d.limitValue(p.value, at, b)
		if !ok {
			continue
		}
		if message := b.check(value); message != "" {
			d.broke(at, "%s", message)
			continue
		}
		b.set(target, value)
	}
}

// limitValue reads one bound in its unit.
func (d *decoder) limitValue(n *node, path string, b bound) (value float64, ok bool) {
	if b.Unit == UnitSeconds {
		return d.duration(n, path)
	}
	if !d.wants(n, path, kindNumber) {
		return 0, false
	}
	_, fraction := b.field(new(Limits)).(*float64)
	if !fraction && n.num != float64(int64(n.num)) {
		d.broke(path, "%s must be a whole number, not %s", path, clip(n.text))
		return 0, false
	}
	return n.num, true
}

// duration reads a time in seconds.
func (d *decoder) duration(n *node, path string) (value float64, ok bool) {
	if n.kind == kindNumber {
		d.broke(path, "%s needs a unit: write %q for seconds, or such as \"10m\"", path, n.text+"s")
		return 0, false
	}
	if !d.wants(n, path, kindText) {
		return 0, false
	}
	duration, err := time.ParseDuration(n.text)
	if err != nil {
		d.broke(path, "%s is no time: %q; write a number with a unit, such as \"90s\", \"10m\" or \"1h30m\"", path, clip(n.text))
		return 0, false
	}
	return duration.Seconds(), true
}
