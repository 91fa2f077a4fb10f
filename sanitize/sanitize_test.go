package sanitize_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/internal/procusage"
	"github.com/convene-run/convene/sanitize"
)

// vault is a thread's values, and a finder of a team with a pattern of its own.
type vault struct {
	sanitize.Values
	finder *sanitize.Detector
}

func newVault(t testing.TB, patterns map[string]string) *vault {
	finder, err := sanitize.New(patterns)
	require.NoError(t, err)
	return &vault{finder: finder}
}

// clean sanitizes and folds, as an append to the log does.
func (v *vault) clean(text string, person bool) string {
	clean, fresh := v.Sanitize(v.finder, text, person)
	for _, value := range fresh {
		v.Add(value)
	}
	return clean
}

// Proves R61: the same value has the same placeholder throughout the thread, and agents pass it
// on as they were given it.
func TestPlaceholders(t *testing.T) {
	v := newVault(t, map[string]string{"customer": `K-\d{6}`})
	require.Equal(t, "[EMAIL_1] or [EMAIL_2], card [CARD_1]", v.clean("ann@example.org or bob@example.org, card 4111 1111 1111 1111", true))
	require.Equal(t, "[EMAIL_2], customer [CUSTOMER_1]; nothing else", v.clean("bob@example.org, customer K-123456; nothing else", false))
	require.Equal(t, "password: [PASSWORD_1]", v.clean("password: hunter2", true))
	require.Equal(t, "log in with [PASSWORD_1] as [EMAIL_1], not hunter22", v.clean("log in with hunter2 as [EMAIL_1], not hunter22", false))
	require.Equal(t, "log in with hunter2 as ann@example.org", v.Restore("log in with [PASSWORD_1] as [EMAIL_1]"))
	require.Equal(t, "no [EMAIL_9] here", v.Restore("no [EMAIL_9] here"))
	require.Equal(t, 5, v.Len())
}

// Proves R61: what a person wrote that looks like a placeholder is never restored to a value,
// whether it was written before the value was known or after it.
func TestLookalikes(t *testing.T) {
	v := newVault(t, nil)
	v.Said("What is [EMAIL_1]?")
	require.Equal(t, "[EMAIL_2]", v.clean("ann@example.org", true))
	require.Equal(t, "You wrote [EMAIL_1]", v.Restore("You wrote [EMAIL_1]"))
	said := "Is [EMAIL_2] mine, and [EMAIL_1]?"
	clean := v.clean(said, true)
	require.Equal(t, "Is [TEXT_1] mine, and [TEXT_2]?", clean)
	require.Equal(t, said, v.Restore(clean))
	// In one text with a value: the value gets another number.
	require.Equal(t, "[TEXT_3] [CARD_2]", v.clean("[CARD_1] 4111111111111111", true))
	// A fact that names something else than a placeholder, or one twice, changes nothing.
	v.Add(sanitize.Value{Kind: sanitize.Email, Placeholder: "the", Text: "x"})
	v.Add(sanitize.Value{Kind: sanitize.Email, Placeholder: "[EMAIL_2]", Text: "x"})
	require.Equal(t, "the ann@example.org", v.Restore("the [EMAIL_2]"))
}

// Proves R61: Restore(Sanitize(x)) is x, for texts of whatever there is in the corpus, of
// placeholders and of bytes, in any order and of any thread.
func TestRestoreGivesTheTextBack(t *testing.T) {
	var parts []string
	for _, kind := range []sanitize.Kind{sanitize.Email, sanitize.Card, sanitize.IBAN, sanitize.Phone, sanitize.Key, sanitize.Password} {
		with, without := corpus(t, kind)
		for i := 0; i < len(with) && i < len(without); i += 5 {
			parts = append(parts, with[i].text, without[i].text)
		}
	}
	parts = append(parts, "[EMAIL_1]", "[CARD_2]", "[TEXT_1]", "[", "]", "[[EMAIL_1]]", "[EMAIL_", "1]", " ", "\n", "password: [PASSWORD_1]", "Authorization: Bearer ", "@", "K-123456")
	rapid.Check(t, func(t *rapid.T) {
		v := &vault{}
		v.finder, _ = sanitize.New(map[string]string{"customer": `K-\d{6}`})
		for range rapid.IntRange(1, 4).Draw(t, "texts") {
			var b strings.Builder
			for range rapid.IntRange(0, 5).Draw(t, "parts") {
				b.WriteString(rapid.OneOf(rapid.SampledFrom(parts), rapid.String()).Draw(t, "part"))
			}
			text := b.String()
			v.Said(text)
			clean := v.clean(text, true)
			if got := v.Restore(clean); got != text {
				t.Fatalf("%q became %q and then %q", text, clean, got)
			}
			if again := v.Restore(v.clean(clean, false)); again != text {
				t.Fatalf("an agent passes on %q, and it becomes %q", clean, again)
			}
		}
	})
}

// FuzzSanitize looks for texts that panic, whose findings are out of order, or that do not
// come back.
func FuzzSanitize(f *testing.F) {
	for _, kind := range []sanitize.Kind{sanitize.Email, sanitize.Card, sanitize.IBAN, sanitize.Phone, sanitize.Key, sanitize.Password} {
		with, without := corpus(f, kind)
		f.Add(with[0].text)
		f.Add(without[0].text)
		f.Add(with[len(with)-1].text)
	}
	f.Add("Cookie: a=bcdef; c=defgh\r\nAuthorization: Basic dTpw\xff")
	f.Fuzz(func(t *testing.T, text string) {
		v := newVault(t, nil)
		end := 0
		for _, found := range v.finder.Find(text) {
			require.True(t, end <= found.Start && found.Start < found.End && found.End <= len(text), "%+v after %d", found, end)
			end = found.End
		}
		v.Said(text)
		require.Equal(t, text, v.Restore(v.clean(text, true)))
	})
}

// Where candidates overlap the longest stays, whole headers too.
func TestLongestWins(t *testing.T) {
	v := newVault(t, map[string]string{"host": `[a-z]+\.example\b`, "order": `order \d+`})
	require.Equal(t, "Authorization: [HEADER_1]\nCookie: [HEADER_2]\n", v.clean("Authorization: Bearer q1W2e3R4t5Y6u7I8o9P0\nCookie: id=4111111111111111; mail=ann@example.org\n", true))
	require.Equal(t, "[EMAIL_1] at [HOST_1]", v.clean("ann@mail.example at mail.example", true))
	require.Equal(t, "[ORDER_1]", v.clean("order 4111111111111111", true))
	require.Equal(t, "curl -H 'X-Api-Key: [HEADER_3]' -H \"Accept: */*\"", v.clean("curl -H 'X-Api-Key: a8f3k2m9' -H \"Accept: */*\"", true))
	require.Equal(t, `{"Authorization": "[HEADER_4]"}`, v.clean(`{"Authorization": "Basic dXNlcjpwYXNz"}`, true))
	off := newVault(t, map[string]string{"email": "off"})
	require.Equal(t, "ann@example.org, [CARD_1]", off.clean("ann@example.org, 4111111111111111", true))
}

// A pattern that cannot be is refused, with what to do.
func TestPatternsAreChecked(t *testing.T) {
	for pattern, want := range map[[2]string]string{
		{"x", "("}:                            "missing closing )",
		{"x", ""}:                             "the pattern is empty",
		{"x", "a*"}:                           "matches an empty text",
		{"x", `\b`}:                           "matches an empty text",
		{"x", strings.Repeat("a", 501)}:       "501 characters, at most 500",
		{"x", "((a{30}){30}){30}"}:            "invalid repeat",
		{"x", `(?:[a-z]{30}\d{30}_{30}){30}`}: "takes too long",
		{"email", "x+"}:                       "one of convene's own",
		{"text", "x+"}:                        "one of convene's own",
		{"customer", "off"}:                   "",
		{"Customer", "x"}:                     "lower-case",
		{"phone", "off"}:                      "",
		{"customer", `K-\d{6}|(?i)kunde\s\d{1,9}`}: "",
	} {
		err := sanitize.Check(pattern[0], pattern[1])
		if want == "" {
			require.NoError(t, err, pattern)
			continue
		}
		require.ErrorContains(t, err, want, pattern)
	}
	many := map[string]string{}
	for i := range 33 {
		many["p"+strings.Repeat("x", i%30)+string(rune('a'+i/30))] = "x"
	}
	_, err := sanitize.New(many)
	require.ErrorContains(t, err, "33 patterns, at most 32")
}

// Proves that the time is linear: a text takes about 16 times as long as a sixteenth of it, also
// where every part of it begins something. A square would take 256 times as long.
func TestTimeIsLinear(t *testing.T) {
	const unit = 1 << 14
	for _, part := range []string{
		"Nothing is in this sentence, nor in that one. ", "a@", "ann@example.org ", "1", "1 ", "12-34 ", "tel 123456 ", "(1", "+1 ", "4111 ", "DE89 ", "password", "password: ", "token=\"",
		"-----BEGIN PRIVATE KEY-----", "eyJ.", "Authorization: ", "a://", "[EMAIL_1]", "sk-", "0:AA", "٠",
	} {
		took := func(n int) time.Duration {
			text, v, before := strings.Repeat(part, n/len(part)), newVault(t, nil), procusage.Time()
			v.Sanitize(v.finder, text, true)
			return procusage.Time() - before
		}
		small, large := took(unit), took(16*unit)
		t.Logf("%-50q %v, %v", part, small, large)
		require.Less(t, large, 64*small+100*time.Millisecond, part)
	}
}
