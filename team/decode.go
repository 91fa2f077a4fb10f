package team

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/nearest"
)

// decoder fills Go values from nodes. It goes on after a problem, so that a
// person sees all of them at once, and notes where everything stands.
type decoder struct {
	found  problems
	places places
	// broken holds the paths that already have a problem: what validation says
	// about them or anything within would only repeat it.
	broken map[string]bool
}

func newDecoder() *decoder {
	return &decoder{places: places{}, broken: map[string]bool{}}
}

func (d *decoder) decodeFile(root *node, file *fileTeam) {
	if root.kind != kindMapping {
		d.places[""] = root.at
		d.broke("", "a team file is a mapping with the keys name and specialists, not %s; `convene team init` writes one to start from", root.kind)
		return
	}
	d.into(root, "", reflect.ValueOf(file).Elem())
}

// broke records a problem and keeps validation quiet about the path.
func (d *decoder) broke(path, format string, args ...any) {
	d.broken[path] = true
	d.found.add(path, format, args...)
}

// isBroken says whether the path or anything around it has a problem already.
func (d *decoder) isBroken(path string) bool {
	for ; path != ""; path = parent(path) {
		if d.broken[path] {
			return true
		}
	}
	return d.broken[""]
}

// brokenWithin says whether the path, or anything around or within it, has a
// problem already.
func (d *decoder) brokenWithin(path string) bool {
	for other := range d.broken {
		if strings.HasPrefix(other, path) && (len(other) == len(path) || other[len(path)] == '.' || other[len(path)] == '[') {
			return true
		}
	}
	return d.isBroken(path)
}

func (d *decoder) addUnlessBroken(more problems) {
	for _, problem := range more {
		if !d.isBroken(problem.Path) {
			d.found = append(d.found, problem)
		}
	}
}

func (d *decoder) into(n *node, path string, target reflect.Value) {
	if n.at.line > 0 {
		d.places[path] = n.at
	}
	if limits, ok := target.Addr().Interface().(*Limits); ok {
		d.limits(n, path, limits)
		return
	}
	if raw, ok := target.Addr().Interface().(*rawValue); ok {
		d.raw(n, path, raw)
		return
	}
	if raw, ok := target.Addr().Interface().(*json.RawMessage); ok {
		d.raw(n, path, (*rawValue)(raw))
		return
	}
	if duration, ok := target.Addr().Interface().(*Duration); ok {
		d.decodeDuration(n, path, duration)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		d.into(n, path, target.Elem())
	case reflect.String:
		if d.wants(n, path, kindText) {
			target.SetString(n.text)
		}
	case reflect.Float64:
		if d.wants(n, path, kindNumber) {
			target.SetFloat(n.num)
		}
	case reflect.Int, reflect.Int64:
		d.whole(n, path, target)
	case reflect.Bool:
		if d.wants(n, path, kindBool) {
			target.SetBool(strings.EqualFold(n.text, "true"))
		}
	case reflect.Map:
		d.named(n, path, target)
	case reflect.Slice:
		d.list(n, path, target)
	case reflect.Struct:
		d.mapping(n, path, target)
	default:
		panic("team: a file cannot hold " + target.Type().String())
	}
}

// wants checks that a value is of the kind that its key takes.
func (d *decoder) wants(n *node, path string, want kind) bool {
	if n.kind == want {
		return true
	}
	switch {
	case n.kind == kindNull:
		d.broke(path, "%s has no value; write %s after the colon or remove the key", path, want)
	case want == kindText && (n.kind == kindNumber || n.kind == kindBool):
		d.broke(path, "%s must be text, not %s; put %s in quotes", path, n.kind, clip(n.text))
	case want == kindList && n.kind == kindText:
		d.broke(path, "%s must be a list, not text; write \"- %s\" on a line of its own", path, clip(n.text))
	default:
		d.broke(path, "%s must be %s, not %s", path, want, n.kind)
	}
	return false
}

// raw takes a mapping as it is.
func (d *decoder) raw(n *node, path string, target *rawValue) {
	if !d.wants(n, path, kindMapping) {
		return
	}
	text, err := json.Marshal(n.json())
	if err != nil {
		d.broke(path, "%s: %v", path, err)
		return
	}
	*target = text
}

func (d *decoder) list(n *node, path string, target reflect.Value) {
	if !d.wants(n, path, kindList) {
		return
	}
	items := reflect.MakeSlice(target.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.into(item, fmt.Sprintf("%s[%d]", path, i), items.Index(i))
	}
	target.Set(items)
}

// whole reads a whole number.
func (d *decoder) whole(n *node, path string, target reflect.Value) {
	switch {
	case !d.wants(n, path, kindNumber):
	case n.num != math.Trunc(n.num) || math.Abs(n.num) > mostWhole(target.Kind()):
		d.broke(path, "%s must be a whole number, not %s", path, clip(n.text))
	default:
		target.SetInt(int64(n.num))
	}
}

// mostWhole is how large a whole number may be: one of 64 bits is exact up to 2^53 as JSON.
func mostWhole(kind reflect.Kind) float64 {
	if kind == reflect.Int64 {
		return 1 << 53
	}
	return math.MaxInt32
}

// named reads a mapping whose keys are names that the file gives.
func (d *decoder) named(n *node, path string, target reflect.Value) {
	if !d.wants(n, path, kindMapping) {
		return
	}
	names := make([]string, len(n.pairs))
	for i, p := range n.pairs {
		names[i] = p.key
	}
	target.Set(reflect.MakeMap(target.Type()))
	for _, p := range d.knownPairs(n, path, names) {
		value := reflect.New(target.Type().Elem()).Elem()
		d.into(p.value, under(path, p.key), value)
		target.SetMapIndex(reflect.ValueOf(p.key).Convert(target.Type().Key()), value)
	}
}

func (d *decoder) mapping(n *node, path string, target reflect.Value) {
	if !d.wants(n, path, kindMapping) {
		return
	}
	fields := map[string]reflect.Value{}
	var keys []string
	for _, field := range reflect.VisibleFields(target.Type()) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" {
			fields[key], keys = target.FieldByIndex(field.Index), append(keys, key)
		}
	}
	for _, p := range d.knownPairs(n, path, keys) {
		d.into(p.value, under(path, p.key), fields[p.key])
	}
}

// knownPairs gives the pairs of a mapping that have one of the keys, the first
// of each, and reports the others.
func (d *decoder) knownPairs(n *node, path string, keys []string) []pair {
	first := map[string]place{}
	for _, p := range n.pairs {
		if _, twice := first[p.key]; !twice {
			first[p.key] = p.at
		}
	}
	var known []pair
	seen := map[string]bool{}
	for _, p := range n.pairs {
		at := under(path, p.key)
		switch {
		case !slices.Contains(keys, p.key):
			d.unknownKey(p, path, keys, first)
		case seen[p.key]:
			d.found = append(d.found, Problem{Path: at, Line: p.at.line, Column: p.at.column,
				Message: fmt.Sprintf("key %q appears twice, first on line %d; remove one", p.key, first[p.key].line)})
		default:
			if p.value.kind == kindMapping || p.value.kind == kindList || p.value.at.line == 0 {
				p.value.at = p.at // the key is where a person looks for a whole block
			}
			known = append(known, p)
		}
		seen[p.key] = true
	}
	return known
}

func (d *decoder) unknownKey(p pair, path string, keys []string, present map[string]place) {
	within := ""
	if path != "" {
		within = " in " + path
	}
	if near := nearest.Of(p.key, keys); near != "" {
		if _, ok := present[near]; !ok {
			d.broken[under(path, near)] = true // it is there, misspelt
		}
	}
	d.found = append(d.found, Problem{Path: under(path, p.key), Line: p.at.line, Column: p.at.column,
		Message: fmt.Sprintf("unknown key %q%s%s the keys here are %s", clip(p.key), within, didYouMean(p.key, keys), join(keys))})
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func join(words []string) string { return strings.Join(words, ", ") }
