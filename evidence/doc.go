// Package evidence checks that a quote stands in what a tool returned, and tells what an
// answer and a document rest on.
//
//	results := []evidence.Result{{Tool: "fetch_url", Text: page, Sources: []events.Source{{URL: address}}}}
//	citation, err := evidence.Check(results, evidence.Claim{URL: address, Quote: "founded in 1998"})
//	// err says to the model which quote is not there, and what is
//
// A quote counts as found only if it stands in the text word for word: runs of whitespace,
// case, the kind of quotation marks and dashes, and Unicode normalization aside. Nothing is
// guessed from similar wording. The package is pure: it reads no log and no files.
package evidence
