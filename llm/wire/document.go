package wire

import "math"

// document is JSON that was looked through once: that it is valid, and where the values in it
// begin and end, so that whoever reads it skips what it does not want in one step. Nothing here
// is recursive: each reader of a stream has a stack, and a run has several readers. It is for
// one goroutine; its memory is used again by the next parse.
type document struct {
	text string
	// nodes are the values, in the order in which they begin, each key before its value.
	nodes []node
}

// node is one value, or the key of one.
type node struct {
	from, to int32
	// next is the node behind the value and all within it; of a container that is not closed
	// yet it is the one that it stands in.
	next int32
	// escaped is set of a string that has escapes.
	escaped bool
}

// maxValues bounds the values of a document, keys among them: a hundred times what a reply has,
// and what is noted of them takes 16 MB. A line of commas alone would take ten times its size.
const maxValues = 1 << 20

// none is the container that the outermost value stands in.
const none = -1

// parse takes a text and gives its value. It reports false where the text is no JSON of bearable
// depth, as [ValidJSON] does, or has more than [maxValues].
func (d *document) parse(text string) (Value, bool) {
	d.text, d.nodes = text, d.nodes[:0]
	if len(text) > math.MaxInt32 {
		return Value{}, false
	}
	open, depth := int32(none), 0
	i := spaced(text, 0)
	for {
		var ok bool
		if i == len(text) || len(d.nodes) > maxValues {
			return Value{}, false
		}
		if b := text[i]; b == '{' || b == '[' {
			if depth++; depth > maxNesting && len(text) > alwaysShallow {
				return Value{}, false
			}
			d.nodes = append(d.nodes, node{from: int32(i), next: open})
			open = int32(len(d.nodes) - 1)
			if i = spaced(text, i+1); i < len(text) && text[i] != b+2 { // what closes it
				if i, ok = d.begun(open, i); !ok {
					return Value{}, false
				}
				continue
			}
		} else if i, ok = d.scalar(i); !ok {
			return Value{}, false
		}
		if i, open, depth, ok = d.behind(i, open, depth); !ok {
			return Value{}, false
		}
		if open == none {
			return Value{doc: d}, i == len(text)
		}
	}
}

// behind goes on behind a value, or at the end of an empty container: it closes the containers
// that end there, up to where the next value begins, or the text ends.
func (d *document) behind(i int, open int32, depth int) (int, int32, int, bool) {
	for {
		i = spaced(d.text, i)
		if open == none || i == len(d.text) {
			return i, open, depth, open == none
		}
		c := &d.nodes[open]
		switch d.text[i] {
		case ',':
			i, ok := d.begun(open, spaced(d.text, i+1))
			return i, open, depth, ok
		case d.text[c.from] + 2:
			i++
			c.to, c.next, open = int32(i), int32(len(d.nodes)), c.next
			depth--
		default:
			return i, open, depth, false
		}
	}
}

// begun reads the key of the next member, where the container is an object.
func (d *document) begun(open int32, i int) (int, bool) {
	if d.text[d.nodes[open].from] == '[' {
		return i, true
	}
	if i == len(d.text) || d.text[i] != '"' {
		return i, false
	}
	i, ok := d.scalar(i)
	if i = spaced(d.text, i); !ok || i == len(d.text) || d.text[i] != ':' {
		return i, false
	}
	return spaced(d.text, i+1), true
}

// scalar reads a string, a number or a word.
func (d *document) scalar(i int) (int, bool) {
	var n int
	escaped := false
	switch rest := d.text[i:]; rest[0] {
	case '"':
		if n, escaped = stringLength(rest[1:]); n >= 0 {
			n += 2
		}
	case 't':
		n = wordLength(rest, "true")
	case 'f':
		n = wordLength(rest, "false")
	case 'n':
		n = wordLength(rest, "null")
	default:
		n = numberLength(rest)
	}
	if n <= 0 {
		return i, false
	}
	d.nodes = append(d.nodes, node{from: int32(i), to: int32(i + n), next: int32(len(d.nodes) + 1), escaped: escaped})
	return i + n, true
}

// spaced gives where the white space at i ends.
func spaced(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

func wordLength(text, word string) int {
	if len(text) < len(word) || text[:len(word)] != word {
		return 0
	}
	return len(word)
}

// numberLength gives the length of the number that text begins with, 0 if it is none.
// https://datatracker.ietf.org/doc/html/rfc8259#section-6
func numberLength(text string) int {
	n := 0
	if text[0] == '-' {
		n = 1
	}
	whole := digits(text[n:])
	if whole == 0 {
		return 0
	}
	if text[n] == '0' {
		whole = 1
	}
	n += whole
	if n < len(text) && text[n] == '.' {
		fraction := digits(text[n+1:])
		if fraction == 0 {
			return 0
		}
		n += 1 + fraction
	}
	if n < len(text) && text[n]|0x20 == 'e' {
		n++
		if n < len(text) && (text[n] == '+' || text[n] == '-') {
			n++
		}
		exponent := digits(text[n:])
		if exponent == 0 {
			return 0
		}
		n += exponent
	}
	return n
}

// digits gives how many of them text begins with.
func digits(text string) (n int) {
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}
