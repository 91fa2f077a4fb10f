//go:build browser

package web_test

import (
	"html"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// Proves R62, R71 in a browser: a person signs in with a token, sees as whom, has values shown
// in place of placeholders, and signs out.
func TestSignedIn(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	file := filepath.Join(t.TempDir(), "tokens.json")
	roles := access.Builtin()
	require.NoError(t, roles.With("restorer", []string{access.ContextRestore}))
	tokens, err := access.Open(file, roles)
	require.NoError(t, err)
	token, _, err := access.Add(file, roles, access.Token{Tenant: "local", User: "ann@example.com", Roles: []string{access.RoleUser, "restorer"}})
	require.NoError(t, err)
	s := newScript(t, log)
	s.add(events.WorkflowStarted{Message: "Ask them about [EMAIL_1]", Team: "trip", UserID: "ann@example.com"})
	s.add(events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", What: "email", Original: "bob@example.org"}}})
	s.add(events.FinalAnswer{Content: "Write to [EMAIL_1], not to [EMAIL_2]."})
	s.add(events.WorkflowFinished{Status: events.StatusCompleted})
	server := serve(t, web.Config{Log: log, Keeper: tokens, Issuers: []string{"https://login.example.org/"}})

	b := browse(t)
	b.open(server.url("/?q=Ask"))
	b.wait(`document.querySelector('input[name=token]')`)
	require.Contains(t, b.text("main"), "An access token of https://login.example.org/ works as well.")
	b.shot("sign-in")
	b.click("input[name=token]")
	b.press("cvn_wrong_token")
	b.clickText("button", "Sign in")
	b.wait(`document.querySelector('main')?.innerText.includes('This token lets nobody in')`)
	b.forgetErrors() // of the 401
	b.click("input[name=token]")
	b.press(token)
	b.clickText("button", "Sign in")
	b.wait(`document.querySelector('.who summary')?.innerText.endsWith('ann@example.com')`)
	require.Equal(t, "/?q=Ask", js[string](b, `location.pathname + location.search`), "it leads back to where she was")
	b.click(".who summary")
	require.Contains(t, b.text(".who > div"), "in the tenant local")
	require.Contains(t, b.text(".who > div"), "user: works in threads of one's own")
	b.shot("signed-in")
	first := regexp.MustCompile(`<details class="menu who">.*?</details>`).FindString(js[string](b, `fetch('/').then((answer) => answer.text())`))
	first = html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(first, ""))
	require.Equal(t, js[string](b, `document.querySelector('.who').textContent`), first, "the script tells something else than the server")
	b.click(".who summary")

	b.open(server.url("/threads/" + string(s.key.Thread)))
	b.shows("Write to [EMAIL_1], not to [EMAIL_2].")
	b.clickText(".actions button", "Show values")
	b.shows("Write to bob@example.org, not to [EMAIL_2].")
	b.shows("Ask them about [EMAIL_1]") // her own words
	b.shot("values")
	require.EqualValues(t, 1, js[int](b, `performance.getEntriesByType('resource').filter((r) => r.name.endsWith('/values')).length`), "asked for once: each time is noted")
	b.clickText(".actions button", "Hide values")
	b.shows("Write to [EMAIL_1]")
	js[any](b, `(() => { // an answer that comes late
		const ask = window.fetch;
		window.late = [];
		window.fetch = async (...request) => {
			const answer = await ask(...request);
			if (String(request[0]).endsWith('/values')) await new Promise((go) => late.push(go));
			return answer;
		};
		return null;
	})()`)
	b.clickText(".actions button", "Show values")
	b.wait(`window.late.length === 1`)
	b.clickText("a", "Runs")
	b.wait(`!document.querySelector('.messages')`)
	js[any](b, `history.back()`)
	b.shows("Write to [EMAIL_1]")
	js[any](b, `late.forEach((go) => go())`)
	b.frames(3)
	require.Contains(t, b.text(".messages"), "Write to [EMAIL_1]", "whoever has left asks no more")
	b.open(server.url("/runs/" + string(s.run)))
	b.clickText(".actions button", "Show values")
	b.wait(`document.querySelector('.answer')?.innerText.includes('bob@example.org')`)
	b.clean()
	b.size(390, 844, true)
	b.scheme("dark")
	b.click(".who summary")
	require.LessOrEqual(t, js[int](b, "document.documentElement.scrollWidth"), 390)
	b.shot("signed-in-narrow-dark")
	b.clickText(".who button", "Sign out")
	b.wait(`document.querySelector('input[name=token]')`)
	b.shot("sign-in-narrow-dark")
}
