package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Bounds of what a model may claim and is told.
const (
	// MaxQuoteChars bounds a quote: what is longer is no passage but a page.
	MaxQuoteChars = 2000
	// MaxClaims bounds the sources of one entry.
	MaxClaims = 20
	// minQuoteChars are the letters and digits that a quote has at least, unless it is the
	// whole result: fewer stand in any text. A character of Chinese or the like counts twice.
	minQuoteChars = 8
	// maxToldChars and maxToldSources bound what an error repeats.
	maxToldChars   = 300
	maxToldSources = 10
)

// Result is what a tool returned to the one who quotes it.
type Result struct {
	Tool string
	// Text is the result as the model was given it.
	Text string
	// Sources are what the text was taken from; none means the tool itself.
	Sources []events.Source
	// Call returned the text. A provider's own search has none.
	Call *events.CallPlace
	// Unseen says that only the model's provider has read the source: nothing of it is here,
	// and no quote can be checked.
	Unseen bool

	// texts are the forms of Text that quotes are looked for in, once they were needed.
	texts []text
}

// sources are those of the result, the tool where it names none.
func (r *Result) sources() []events.Source {
	if len(r.Sources) == 0 {
		return []events.Source{{Tool: r.Tool}}
	}
	return r.Sources
}

// Claim is what a model says: that Quote stands in the source that it names. One of URL,
// File, Artifact and Tool names it.
type Claim struct {
	URL, File, Artifact, Tool string
	Quote                     string
}

// Check decides whether the quote stands in what its source returned. The citation is
// what to record; the error, for the model, says why Found is not set.
func Check(results []Result, claim Claim) (events.Citation, error) {
	cited := events.Citation{
		Source: events.Source{URL: claim.URL, File: claim.File, Artifact: events.ArtifactID(claim.Artifact), Tool: claim.Tool}, Quote: claim.Quote,
	}
	if err := claim.check(); err != nil {
		return cited, err
	}
	var named, others []*Result
	for i := range slices.Backward(results) {
		r := &results[i]
		source, ok := claim.source(r)
		if !ok {
			others = append(others, r)
			continue
		}
		named = append(named, r)
		if !r.Unseen && r.has(claim.Quote) {
			cited.Source, cited.Found, cited.Call = source, true, r.Call
			hash := sha256.Sum256([]byte(r.Text))
			cited.SHA256 = hex.EncodeToString(hash[:])
			return cited, nil
		}
	}
	return cited, claim.missing(named, others)
}

// check says what is wrong with a claim whatever its source returned.
func (c *Claim) check() error {
	named := 0
	for _, name := range []string{c.URL, c.File, c.Artifact, c.Tool} {
		if name != "" {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("the source of %s is not clear: give one of url, file, artifact and tool", told(c.Quote))
	case chars.Over(c.Quote, MaxQuoteChars):
		return fmt.Errorf("the quote %s is longer than %d characters: quote the sentence that matters", told(c.Quote), MaxQuoteChars)
	}
	return nil
}

// missing says why a quote was not found, and what would be right.
func (c *Claim) missing(named, others []*Result) error {
	if len(named) == 0 {
		return fmt.Errorf("%s: nothing was returned to you from this source. %s", c.name(), available(others))
	}
	if !slices.ContainsFunc(named, func(r *Result) bool { return !r.Unseen }) {
		return fmt.Errorf("%s cannot be checked in %s: the provider's search names the page and returned no text of it. Fetch the page where you have a tool for it", told(c.Quote), c.name())
	}
	if short(read(strip(c.Quote), true).folded) {
		return fmt.Errorf("the quote %s is too short to prove anything: quote the words around it too", told(c.Quote))
	}
	for _, r := range others {
		if r.has(c.Quote) {
			return fmt.Errorf("%s does not stand in %s. It stands in %s: name that as its source", told(c.Quote), c.name(), names(r.sources()))
		}
	}
	problem := fmt.Sprintf("%s does not stand in %s.", told(c.Quote), c.name())
	if passage := nearest(named, c.Quote); passage != "" {
		return fmt.Errorf("%s The nearest passage there is %s", problem, told(passage))
	}
	return fmt.Errorf("%s No passage there is like it", problem)
}

func available(results []*Result) string {
	var all []events.Source
	for _, r := range results {
		all = append(all, r.sources()...)
	}
	if len(all) == 0 {
		return "You have no results of tools yet: use your tools first, or write without sources"
	}
	return "Your sources are: " + names(all)
}

// names lists sources, each once.
func names(sources []events.Source) string {
	var list []string
	for _, s := range sources {
		claim := Claim{URL: s.URL, File: s.File, Artifact: string(s.Artifact), Tool: s.Tool}
		if name := claim.name(); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if more := len(list) - maxToldSources; more > 0 {
		list = append(list[:maxToldSources], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// name is the source that the claim names, as the model is told of it.
func (c *Claim) name() string {
	for _, s := range [][2]string{{"url", c.URL}, {"file", c.File}, {"artifact", c.Artifact}, {"tool", c.Tool}} {
		if s[1] != "" {
			return s[0] + " " + chars.Clip(oneLine(s[1]), maxToldChars)
		}
	}
	return "no source"
}

// source gives the source of the result that the claim names, whether there is one.
func (c *Claim) source(r *Result) (events.Source, bool) {
	sources := r.sources()
	if c.Tool != "" {
		if len(sources) > 1 {
			sources = []events.Source{{Tool: r.Tool}}
		}
		return sources[0], c.Tool == r.Tool
	}
	for _, s := range sources {
		if c.URL != "" && address(c.URL) == address(s.URL) || c.File != "" && s.File != "" && path.Clean(c.File) == path.Clean(s.File) ||
			c.Artifact != "" && artifact(c.Artifact, s) {
			return s, true
		}
	}
	return events.Source{}, false
}

// minHashChars is how much of a hash tells artifacts apart.
const minHashChars = 8

// artifact reports whether a name means this artifact: its hash, the beginning of that, or
// its title.
func artifact(name string, s events.Source) bool {
	name = strings.TrimSpace(strings.TrimPrefix(name, "sha256:"))
	return s.Artifact != "" && (len(name) >= minHashChars && strings.HasPrefix(string(s.Artifact), strings.ToLower(name)) || name == s.Title)
}

// address is a URL as two are compared: what a server never sees is left out.
func address(raw string) string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return raw
	}
	u.Scheme, u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// has reports whether the quote stands in the result.
func (r *Result) has(quote string) bool {
	if r.texts == nil {
		r.texts = readings(r.Text)
	}
	for _, form := range []string{quote, strip(quote)} {
		for _, unmarked := range []bool{false, true} {
			wanted := strings.TrimSpace(read(form, unmarked).folded)
			for i := range r.texts {
				if t := &r.texts[i]; t.has(wanted) && (!short(wanted) || wanted == strings.TrimSpace(t.folded)) {
					return true
				}
			}
		}
	}
	return false
}

// readings are the forms of a result in which a model may quote from it.
func readings(s string) []text {
	texts := []text{read(s, false)}
	if marked(s) {
		texts = append(texts, read(s, true))
	}
	if values := jsonValues(s); values != "" {
		texts = append(texts, read(values, false))
	}
	return texts
}

// strip leaves out what models put around a quote.
func strip(quote string) string { return strings.Trim(quote, "\"'“”„‟‘’«».… \t\r\n") }

// short reports whether a quote says too little to be told from chance.
func short(folded string) bool { return signsOf(folded) < minQuoteChars }

// signsOf counts letters and digits, those of scripts without spaces twice.
func signsOf(folded string) (count int) {
	for _, r := range folded {
		switch {
		case unspaced(r):
			count += 2
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			count++
		}
	}
	return count
}

func told(quote string) string { return "“" + chars.Clip(oneLine(quote), maxToldChars) + "”" }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
