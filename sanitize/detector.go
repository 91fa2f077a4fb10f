package sanitize

import (
	"slices"
	"sort"
)

// Kind says what a value is: one of the kinds below, or the name of a team's own pattern.
type Kind string

// The kinds that are found without a pattern.
const (
	Email Kind = "email"
	Phone Kind = "phone"
	Card  Kind = "card"
	IBAN  Kind = "iban"
	// Key is a key or token of a known shape, or one that the words before it call so.
	Key Kind = "key"
	// Password is what the words before it call a password.
	Password Kind = "password"
	// Header is the value of an HTTP header that carries credentials.
	Header Kind = "header"
)

// Kinds are those that are found without a pattern, in the order of the documentation.
func Kinds() []Kind { return []Kind{Email, Phone, Card, IBAN, Key, Password, Header} }

// Finding is a value in a text: bytes Start up to End.
type Finding struct {
	Start, End int
	Kind       Kind
}

// Finder finds values. Implementations are safe for concurrent use, wait for nothing, and give
// findings in order, none of which overlaps another or is empty.
type Finder interface {
	Find(text string) []Finding
}

// Detector is the [Finder] of this package. The zero Detector finds all of [Kinds].
type Detector struct {
	own []pattern
	off map[Kind]bool
}

// Whole is a [Finder] to which every text is one value of its kind.
type Whole Kind

// Find implements [Finder].
func (w Whole) Find(text string) []Finding {
	if text == "" {
		return nil
	}
	return []Finding{{0, len(text), Kind(w)}}
}

// detectors find candidates of one or two kinds each, in any order.
var detectors = []func(text string, found func(start, end int, kind Kind)){
	findHeaders, findEmails, findNumbers, findIBANs, findKeys, findPEM, findNamed, findUserinfo,
}

// Find implements [Finder]. Where candidates overlap, the longest stays.
func (d *Detector) Find(text string) []Finding {
	var all []Finding
	found := func(start, end int, kind Kind) {
		if !d.off[kind] && start < end {
			all = append(all, Finding{start, end, kind})
		}
	}
	for _, find := range detectors {
		find(text, found)
	}
	for _, p := range d.own {
		for _, at := range p.re.FindAllStringIndex(text, -1) {
			found(at[0], at[1], p.kind)
		}
	}
	return longest(all)
}

// longest leaves out what overlaps a longer finding, or one of the same length before it.
func longest(all []Finding) []Finding {
	if len(all) < 2 {
		return all
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i].End-all[i].Start, all[j].End-all[j].Start
		return a > b || a == b && all[i].Start < all[j].Start
	})
	// Those that stay are disjoint and in order of length, so a shorter one that overlaps one of
	// them has an end in it.
	taken := make([]bool, slices.MaxFunc(all, func(a, b Finding) int { return a.End - b.End }).End)
	kept := all[:0]
	for _, f := range all {
		if taken[f.Start] || taken[f.End-1] {
			continue
		}
		for i := f.Start; i < f.End; i++ {
			taken[i] = true
		}
		kept = append(kept, f)
	}
	slices.SortFunc(kept, func(a, b Finding) int { return a.Start - b.Start })
	return kept
}
