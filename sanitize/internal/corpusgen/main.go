// Command corpusgen writes the generated half of the corpus of package sanitize: for each kind
// a file of lines that have a value of it, marked, and of lines that only look so.
//
//	go run ./internal/corpusgen testdata
//
// The same program writes the same files. The values are made up: domains, telephone numbers
// and first digits of cards are those that are set aside for examples and tests, the rest is
// drawn.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// perSign is how many lines there are with a value, and without one, of each kind.
const perSign = 220

// generators make one line of a kind each, with a value between ⟦ and ⟧ or without one.
var generators = []struct {
	kind        string
	with, other func(g *gen) string
}{
	{"email", (*gen).emailLine, (*gen).noEmail},
	{"phone", (*gen).phoneLine, (*gen).noPhone},
	{"card", (*gen).cardLine, (*gen).noCard},
	{"iban", (*gen).ibanLine, (*gen).noIBAN},
	{"key", (*gen).keyLine, (*gen).noKey},
	{"password", (*gen).passwordLine, (*gen).noPassword},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: corpusgen DIR")
		os.Exit(2)
	}
	for i, kind := range generators {
		g := &gen{rand.New(rand.NewPCG(uint64(i), 61))}
		var b strings.Builder
		b.WriteString("# Written by internal/corpusgen. ⟦⟧ mark the values, \\n is a break of lines; ¦ is left out: it keeps scanners of repositories from taking these for real.\n")
		for range perSign {
			fmt.Fprintf(&b, "+ %s\n", oneLine(kind.with(g)))
		}
		for range perSign {
			fmt.Fprintf(&b, "- %s\n", oneLine(kind.other(g)))
		}
		if err := os.WriteFile(filepath.Join(os.Args[1], kind.kind+".generated.txt"), []byte(b.String()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// oneLine writes a break of lines as \n.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// gen draws.
type gen struct{ *rand.Rand }

// one draws one of several.
func (g *gen) one(of ...string) string { return of[g.IntN(len(of))] }

// text draws n bytes of an alphabet.
func (g *gen) text(n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex    = digits + "abcdef"
	alnum  = digits + lower + upper
	word   = alnum + "-_"
)

func (g *gen) digits(n int) string { return g.text(n, digits) }

// fill puts the value, marked, in place of the % of one of the sentences.
func (g *gen) fill(value string, sentences ...string) string {
	return strings.ReplaceAll(g.one(sentences...), "%", "⟦"+value+"⟧")
}

// put puts a text in place of the % of one of the sentences.
func (g *gen) put(text string, sentences ...string) string {
	return strings.ReplaceAll(g.one(sentences...), "%", text)
}

// grouped puts a separator between groups of the sizes, the last of which repeats.
func grouped(text, sep string, sizes ...int) string {
	var groups []string
	for i := 0; text != ""; i++ {
		n := min(sizes[min(i, len(sizes)-1)], len(text))
		groups, text = append(groups, text[:n]), text[n:]
	}
	return strings.Join(groups, sep)
}

// uuid, date, version, hash and the like are what every kind must leave alone.
func (g *gen) common() string {
	switch g.IntN(16) {
	case 0:
		return g.put(g.uuid(), "run %", "id: %", "GET /api/v1/runs/%", `{"id":"%"}`, "%")
	case 1:
		return g.put(g.date(), "due %", "on % at noon", "From % on", "am % um 14:30", "le %")
	case 2:
		return g.put(fmt.Sprintf("%d.%d.%d", g.IntN(20), g.IntN(40), g.IntN(400)), "v%", "version %", "go %", "release-%-rc.1", "upgrade to %+build.77")
	case 3:
		return g.put(g.text(40, hex), "commit %", "sha1 %", "at %:main")
	case 4:
		return g.put(g.text(64, hex), "sha256:%", "digest %", "image@sha256:%")
	case 5:
		return g.put(g.text(32, hex), "md5 %", "ETag: %", "trace %")
	case 6:
		return g.put("978-3-16-"+g.digits(6)+"-"+g.digits(1), "ISBN %", "ISBN-13: %", "see %")
	case 7:
		return g.put(g.digits(1)+"-306-"+g.digits(5)+"-"+g.text(1, digits+"X"), "ISBN %", "ISBN-10 %", "isbn:%")
	case 8:
		return g.put(fmt.Sprintf("%d.%s, %d.%s", g.IntN(90), g.digits(6), g.IntN(180), g.digits(6)), "at %", "coordinates %", "POINT(%)", "+%")
	case 9:
		return g.put(fmt.Sprintf("%d.%d.%d.%d", 10, g.IntN(256), g.IntN(256), g.IntN(256)), "host %", "from %:8080", "ping %")
	case 10:
		return g.put(g.text(2, upper)+"-"+g.digits(8), "order %", "ticket %", "Bestellung %", "commande %")
	case 11:
		return g.put("17"+g.digits(8), "at unix time %", "exp: %", "ts=%")
	case 12:
		return g.put("17"+g.digits(11), "at % ms", `{"ts":%}`)
	case 13:
		return g.put(fmt.Sprintf("%d,%s.%s", 1+g.IntN(900), g.digits(3), g.digits(2)), "total $%", "€% due", "EUR %")
	case 14:
		return g.put(fmt.Sprintf("%d %s %s", 1+g.IntN(900), g.digits(3), g.digits(3)), "% inhabitants", "sum of % bytes", "rows: %")
	}
	return g.put("#"+g.digits(6), "see %", "fixes %", "row %", "Auftrag %")
}

func (g *gen) uuid() string {
	return grouped(g.text(8, hex), "-", 8) + "-" + g.text(4, hex) + "-4" + g.text(3, hex) + "-a" + g.text(3, hex) + "-" + g.text(12, hex)
}

func (g *gen) date() string {
	y, m, d := 1950+g.IntN(90), 1+g.IntN(12), 1+g.IntN(28)
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
	case 1:
		return fmt.Sprintf("%02d.%02d.%04d", d, m, y)
	case 2:
		return fmt.Sprintf("%02d/%02d/%04d", m, d, y)
	case 3:
		return fmt.Sprintf("%04d%02d%02dT%02d%02d00Z", y, m, d, g.IntN(24), g.IntN(60))
	case 4:
		return fmt.Sprintf("%02d-%02d-%04d %02d:%02d", d, m, y, g.IntN(24), g.IntN(60))
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%06d+02:00", y, m, d, g.IntN(24), g.IntN(60), g.IntN(60), g.IntN(1e6))
}
