// Package sanitize finds personal data and secrets in a text, and puts placeholders in their
// place: what one agent passes on to another, a webhook or a log line then says that there is
// an e-mail address, not which.
//
//	finder, err := sanitize.New(map[string]string{"customer": `K-\d{6}`})
//	if err != nil {
//		return err
//	}
//	var values sanitize.Values // those of one thread
//	clean, fresh := values.Sanitize(finder, "Write to ann@example.org", false)
//	// clean is "Write to [EMAIL_1]"; fresh is what the log must say before anybody reads it
//	for _, v := range fresh {
//		values.Add(v)
//	}
//	values.Restore(clean) // the text as it was
//
// It finds shapes, each held against what is known of them: check sums, lengths by country,
// prefixes of keys, words before a number. It knows neither names nor postal addresses, and
// understands no sentences; docs/sanitizing.md says what that leaves. It does no I/O and asks
// no model, and its time is linear in the length of the text.
//
// [Values] is a fold over the values_replaced events of a thread, so that the log alone tells
// what a placeholder stands for.
package sanitize

//go:generate go run ./internal/corpusgen testdata
