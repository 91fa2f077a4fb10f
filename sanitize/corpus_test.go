package sanitize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/sanitize"
)

// line is one of the corpus: a text, and where the values of its kind stand.
type line struct {
	at   string
	text string
	has  []sanitize.Finding
}

// corpus reads the lines of a kind, generated and written by hand.
func corpus(t testing.TB, kind sanitize.Kind) (with, without []line) {
	files, err := filepath.Glob(filepath.Join("testdata", string(kind)+".*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, written := range strings.Split(string(raw), "\n") {
			if written == "" || written[0] == '#' {
				continue
			}
			l := line{at: filepath.Base(file) + ": " + written}
			text := strings.NewReplacer("¦", "", `\n`, "\n", `\t`, "\t").Replace(written[2:])
			for {
				before, rest, marked := strings.Cut(text, "⟦")
				l.text += before
				if !marked {
					break
				}
				var value string
				value, text, _ = strings.Cut(rest, "⟧")
				l.has = append(l.has, sanitize.Finding{Start: len(l.text), End: len(l.text) + len(value), Kind: kind})
				l.text += value
			}
			require.Equal(t, written[0] == '+', len(l.has) > 0, written)
			if len(l.has) > 0 {
				with = append(with, l)
			} else {
				without = append(without, l)
			}
		}
	}
	return with, without
}

// Proves R61: each kind is found where it is, to the byte, and left alone where something only
// looks like it.
func TestCorpus(t *testing.T) {
	finder, err := sanitize.New(nil)
	require.NoError(t, err)
	for _, kind := range []sanitize.Kind{sanitize.Email, sanitize.Card, sanitize.IBAN, sanitize.Phone, sanitize.Key, sanitize.Password} {
		with, without := corpus(t, kind)
		require.GreaterOrEqual(t, min(len(with), len(without)), 200, kind)
		right, wrong, missed := 0, 0, 0
		var odd []string
		for _, l := range append(with, without...) {
			left := map[sanitize.Finding]bool{}
			for _, f := range l.has {
				left[f] = true
			}
			for _, f := range finder.Find(l.text) {
				switch {
				case f.Kind != kind:
				case left[f]:
					right++
					delete(left, f)
				default:
					wrong++
					odd = append(odd, "found "+l.text[f.Start:f.End]+" in "+l.at)
				}
			}
			missed += len(left)
			if len(left) > 0 {
				odd = append(odd, "missed in "+l.at)
			}
		}
		precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(right+missed)
		t.Logf("%-8s %d with, %d without: precision %.3f, recall %.3f", kind, len(with), len(without), precision, recall)
		assert.GreaterOrEqual(t, min(precision, recall), 0.95, "%s:\n%s", kind, strings.Join(odd, "\n"))
		if testing.Verbose() {
			t.Log(strings.Join(odd, "\n"))
		}
	}
}
