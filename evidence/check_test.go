package evidence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/evidence"
)

func page(url, text string) evidence.Result {
	return evidence.Result{
		Tool: "fetch_url", Text: text, Sources: []events.Source{{URL: url, Title: "A page"}}, Call: &events.CallPlace{ModelCall: "d1.2", Index: 1},
	}
}

func TestFound(t *testing.T) {
	for name, c := range map[string]struct{ text, quote string }{
		"word for word":     {"Acme was founded in 1998 in Kyoto.", "founded in 1998"},
		"case":              {"ACME WAS FOUNDED IN 1998", "Acme was founded"},
		"whitespace":        {"founded\n\t in\u00a01998 by two", "founded in 1998"},
		"typography":        {"It’s the “largest” — by far…", `It's the "largest" - by far...`},
		"decomposed":        {"Cafe\u0301 Zürich is open", "café zu\u0308rich is open"},
		"soft hyphens":      {"the agree\u00adment of 2024", "the agreement of 2024"},
		"in marks":          {"the agreement of 2024 holds", "“…the agreement of 2024…”"},
		"no spaces":         {"本社は京都市にあります。従業員は五百人です。", "京都市にあり"},
		"quoted lines":      {"Page 1:\n> The term is\n> twelve months.", "The term is twelve months."},
		"with their marks":  {"Page 1:\n> The term is\n> twelve months.", "> The term is\n> twelve months."},
		"greater than":      {"rows\n>50 million users", ">50 million users"},
		"json values":       {`{"name":"Caf\u00e9 \"Zur Post\"","seats":120}`, `Café "Zur Post"`},
		"json as it stands": {`{"employees": 532, "city": "Kyoto"}`, `"employees": 532`},
		"all of it":         {"42", "42"},
		"cut elsewhere":     {"Revenue was 50 million in 2…\n[cut: 27 of 900 characters shown]", "Revenue was 50 million"},
		"after a dash":      {"the years 2019–2024 were good", "2024 were good"},
	} {
		t.Run(name, func(t *testing.T) {
			results := []evidence.Result{page("https://a.example/", c.text)}
			cited, err := evidence.Check(results, evidence.Claim{URL: "https://a.example/", Quote: c.quote})
			require.NoError(t, err)
			require.True(t, cited.Found)
			require.Equal(t, events.Source{URL: "https://a.example/", Title: "A page"}, cited.Source)
			require.Equal(t, c.quote, cited.Quote)
			require.Equal(t, &events.CallPlace{ModelCall: "d1.2", Index: 1}, cited.Call)
			require.Len(t, cited.SHA256, 64)
		})
	}
}

func TestNotFound(t *testing.T) {
	for name, c := range map[string]struct{ text, quote, says string }{
		"invented":          {"Acme makes anvils.", "Acme is the market leader", "No passage there is like it"},
		"shifted":           {"Revenue was 52 million in 2024.", "Revenue was 25 million in 2024.", "nearest passage there is “Revenue was 52 million in 2024.”"},
		"number cut":        {"Revenue was 50 million", "Revenue was 5", "does not stand"},
		"number cut before": {"It is 15 million dollars", "5 million dollars", "does not stand"},
		"decimals cut":      {"growth of 1.5 percent a year", "growth of 1", "does not stand"},
		"decimals before":   {"some 1.5 percent a year", "5 percent a year", "does not stand"},
		"thousands cut":     {"employees: 12,500", "employees: 12", "does not stand"},
		"thousands, hard":   {"employees: 12\u202f500", "employees: 12", "does not stand"},
		"sign cut":          {"a result of -50 million", "50 million", "does not stand"},
		"per cent cut":      {"margins of 5%", "margins of 5", "does not stand"},
		"power":             {"a volume of 10²", "a volume of 102", "does not stand"},
		"Chinese number":    {"従業員は二十三人です", "従業員は二十", "does not stand"},
		"cut in a number":   {"Revenue was 50…\n[cut: 14 of 900 characters shown]", "Revenue was 50", "does not stand"},
		"word cut":          {"an unprofitable company", "profitable company", "does not stand"},
		"left out":          {"Acme was not profitable in 2024", "Acme was profitable in 2024", "nearest passage"},
		"joined":            {"Acme is big. Much later: profits fell.", "Acme is big … profits fell.", "does not stand"},
		"short":             {"yes, it is", "yes", "too short"},
		"empty":             {"anything at all", "", "too short"},
		"signs only":        {"a ---------- b", "----------", "too short"},
	} {
		t.Run(name, func(t *testing.T) {
			results := []evidence.Result{page("https://a.example/", c.text)}
			cited, err := evidence.Check(results, evidence.Claim{URL: "https://a.example/", Quote: c.quote})
			require.ErrorContains(t, err, c.says)
			require.False(t, cited.Found)
			require.Nil(t, cited.Call)
		})
	}
}

func TestSourceIsTheOneNamed(t *testing.T) {
	const quote = "founded in 1998"
	hash := strings.Repeat("ab", 32)
	results := []evidence.Result{
		page("https://a.example/about?x=1", "Acme was founded in 1998."),
		{Tool: "read_file", Text: "Beta was founded in 2001.", Sources: []events.Source{{File: "docs/beta.md", Page: 3}}},
		{Tool: "everything__search", Text: "Gamma was founded in 1998."},
		{Tool: "read_artifact", Text: "Delta was founded in 1998.", Sources: []events.Source{{Artifact: events.ArtifactID(hash), Title: "delta.pdf", Page: 2}}},
		{Tool: "search", Text: "Epsilon was founded in 1998.", Sources: []events.Source{{URL: "https://e.example"}, {URL: "https://f.example"}}},
	}
	for _, c := range []struct {
		claim evidence.Claim
		is    events.Source
	}{
		{evidence.Claim{URL: "HTTPS://A.example/about?x=1#top"}, results[0].Sources[0]},
		{evidence.Claim{URL: "https://f.example/"}, events.Source{URL: "https://f.example"}},
		{evidence.Claim{Tool: "fetch_url"}, results[0].Sources[0]},
		{evidence.Claim{Tool: "everything__search"}, events.Source{Tool: "everything__search"}},
		{evidence.Claim{Tool: "search"}, events.Source{Tool: "search"}},
		{evidence.Claim{Artifact: hash[:12]}, results[3].Sources[0]},
		{evidence.Claim{Artifact: "delta.pdf"}, results[3].Sources[0]},
	} {
		c.claim.Quote = quote
		cited, err := evidence.Check(results, c.claim)
		require.NoError(t, err, "%+v", c.claim)
		require.Equal(t, c.is, cited.Source)
	}
	for _, c := range []struct {
		claim evidence.Claim
		says  string
	}{
		{evidence.Claim{URL: "https://b.example/"}, "nothing was returned to you from this source. Your sources are: "},
		{evidence.Claim{File: "./docs/beta.md"}, "It stands in "},
		{evidence.Claim{File: "docs/other.md"}, "nothing was returned"},
		{evidence.Claim{Tool: "read_document"}, "nothing was returned"},
		{evidence.Claim{Artifact: hash[:4]}, "nothing was returned"},
		{evidence.Claim{}, "give one of url, file, artifact and tool"},
		{evidence.Claim{URL: "https://a.example/about?x=1", File: "docs/beta.md"}, "give one of"},
	} {
		c.claim.Quote = quote
		cited, err := evidence.Check(results, c.claim)
		require.ErrorContains(t, err, c.says, "%+v", c.claim)
		require.False(t, cited.Found)
	}
	_, err := evidence.Check(nil, evidence.Claim{URL: "https://a.example/", Quote: quote})
	require.ErrorContains(t, err, "You have no results of tools yet")
}

// Of a page that only the provider has read nothing passes for checked, an empty quote least
// of all.
func TestUnseenPage(t *testing.T) {
	unseen := evidence.Result{Tool: "web_search", Sources: []events.Source{{URL: "https://a.example/"}}, Unseen: true}
	for _, quote := range []string{"", " ", "42", "Acme was founded in 1998 in Kyoto."} {
		cited, err := evidence.Check([]evidence.Result{unseen}, evidence.Claim{URL: "https://a.example/", Quote: quote})
		require.ErrorContains(t, err, "cannot be checked")
		require.False(t, cited.Found)
		require.Empty(t, cited.SHA256)
	}
}
