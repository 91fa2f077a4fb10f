package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
)

// prose draws a text as tools return it: words, numbers and signs in lines.
func prose(t *rapid.T, label string) []string {
	word := rapid.OneOf(
		rapid.SampledFrom([]string{"the", "company", "was", "founded", "Straße", "café", "ΟΔΟΣ", "naïve,", "(see", "below)", "“quoted”", "–", "it’s", ">", "…", "İzmir", "ﬁne"}),
		rapid.StringMatching(`[a-zA-Z]{3,9}`),
		rapid.Map(rapid.IntRange(100, 99999), func(n int) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.IntRange(100, 99999), func(n int) string { return fmt.Sprintf("%d.%d%%", n/10, n%10) }),
	)
	return rapid.SliceOfN(word, 12, 60).Draw(t, label)
}

func breaks(t *rapid.T, words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{" ", " ", " ", "\n", "\t", "\r\n", "  ", "\n\n"}).Draw(t, "space"))
		}
		b.WriteString(word)
	}
	return b.String()
}

func recased(t *rapid.T, text string) string {
	return strings.Map(func(r rune) rune {
		switch rapid.IntRange(0, 3).Draw(t, "case") {
		case 0:
			return unicode.ToUpper(r)
		case 1:
			return unicode.ToLower(r)
		}
		return r
	}, text)
}

const (
	own     = "https://own.example/page"
	another = "https://another.example/page"
)

// passage draws a stretch of the words that is long enough to prove something.
func passage(t *rapid.T, words []string) []string {
	from := rapid.IntRange(0, len(words)-8).Draw(t, "from")
	to := rapid.IntRange(from+8, len(words)).Draw(t, "to")
	return words[from:to]
}

// holds reports whether words stand in others in their order, one behind the other, marks of
// quoted lines and those around a quote aside: written on purpose in another way than the check.
func holds(all, some []string) bool {
	plain := func(words []string) string {
		fields := strings.Fields(strings.ReplaceAll(strings.ToLower(strings.Join(words, " ")), ">", ""))
		return strings.Join(fields, " ") + " "
	}
	return strings.Contains(" "+plain(all), " "+strings.TrimLeft(plain(some), "… ")) || strings.Contains(plain(all), strings.Trim(plain(some), "…“” "))
}

func TestTrueQuoteIsAlwaysFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := prose(t, "words")
		results := []evidence.Result{page(another, "Something else."), page(own, breaks(t, words))}
		quote := recased(t, breaks(t, passage(t, words)))
		cited, err := evidence.Check(results, evidence.Claim{URL: own, Quote: quote})
		if err != nil && strings.Contains(err.Error(), "too short") {
			return // eight signs
		}
		require.NoError(t, err)
		require.True(t, cited.Found)
	})
}

func TestFalseQuoteIsNeverFound(t *testing.T) {
	mutations := map[string]func(t *rapid.T, quote []string) []string{
		"a digit is shifted": func(t *rapid.T, quote []string) []string {
			at := rapid.IntRange(0, len(quote)).Draw(t, "at")
			number := rapid.IntRange(100, 99999).Draw(t, "number")
			return append(append(append([]string{}, quote[:at]...), fmt.Sprint(number)), quote[at:]...)
		},
		"a digit changes": func(t *rapid.T, quote []string) []string {
			changed := append([]string{"in", "1998"}, quote...)
			changed[1] = fmt.Sprint(1998 + rapid.IntRange(1, 9).Draw(t, "by"))
			return changed
		},
		"a number loses its end": func(t *rapid.T, quote []string) []string {
			for i := len(quote) - 1; i >= 7; i-- {
				if last := quote[i]; unicode.IsDigit(rune(last[0])) {
					return append(append([]string{}, quote[:i]...), last[:len(last)-1])
				}
			}
			return append(append([]string{}, quote...), "unheard-of")
		},
		"a word changes": func(t *rapid.T, quote []string) []string {
			changed := append([]string{}, quote...)
			changed[rapid.IntRange(0, len(quote)-1).Draw(t, "at")] = "invented"
			return changed
		},
		"a word is left out": func(t *rapid.T, quote []string) []string {
			at := rapid.IntRange(1, len(quote)-2).Draw(t, "at")
			return append(append([]string{}, quote[:at]...), quote[at+1:]...)
		},
		"two words change places": func(t *rapid.T, quote []string) []string {
			changed := append([]string{}, quote...)
			at := rapid.IntRange(0, len(quote)-2).Draw(t, "at")
			changed[at], changed[at+1] = changed[at+1], changed[at]
			return changed
		},
	}
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				words := prose(t, "words")
				quote := mutate(t, passage(t, words))
				if holds(words, quote) {
					return // the same words again: not a false quote
				}
				results := []evidence.Result{page(another, strings.Join(quote, " ")), page(own, breaks(t, words))}
				cited, err := evidence.Check(results, evidence.Claim{URL: own, Quote: breaks(t, quote)})
				require.Error(t, err)
				require.False(t, cited.Found)
			})
		})
	}
}

// A true quote of one source is none of another one, of a page that was never fetched, and
// of what was returned to somebody else.
func TestQuoteOfAnotherSourceIsNeverFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := prose(t, "words")
		mine, theirs := page(own, "Nothing of the kind."), page(another, breaks(t, words))
		tool := evidence.Result{Tool: "search", Text: breaks(t, words)}
		quote := breaks(t, passage(t, words))
		for _, c := range []struct {
			returned []evidence.Result
			claim    evidence.Claim
		}{
			{[]evidence.Result{mine, theirs, tool}, evidence.Claim{URL: own}},
			{[]evidence.Result{mine, theirs, tool}, evidence.Claim{URL: "https://never.example/fetched"}},
			{[]evidence.Result{mine, theirs}, evidence.Claim{Tool: "search"}},
			{[]evidence.Result{mine}, evidence.Claim{URL: another}},
			{[]evidence.Result{mine, theirs, tool}, evidence.Claim{File: own}},
			{nil, evidence.Claim{Tool: "search"}},
		} {
			c.claim.Quote = quote
			cited, err := evidence.Check(c.returned, c.claim)
			require.Error(t, err)
			require.False(t, cited.Found)
			require.Equal(t, events.Source{URL: c.claim.URL, File: c.claim.File, Tool: c.claim.Tool}, cited.Source)
		}
	})
}

// Whatever a model claims and a tool returns, the check ends.
func FuzzCheck(f *testing.F) {
	f.Add("> a\n> b 1.5", "a b 1.5")
	f.Add(`{"a":["b",1.5,null]}`, "…b 1.5\xff")
	f.Fuzz(func(t *testing.T, text, quote string) {
		cited, err := evidence.Check([]evidence.Result{{Tool: "search", Text: text}}, evidence.Claim{Tool: "search", Quote: quote})
		require.Equal(t, err == nil, cited.Found)
	})
}
