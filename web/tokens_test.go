//go:build browser

package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// said is what agents say of themselves at this moment, as a test tells them.
type said struct {
	*simRuns
	mu     sync.Mutex // guards agents
	agents []web.LiveAgent
}

func (s *said) Live(events.ThreadKey) ([]web.LiveAgent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	agents := append([]web.LiveAgent{}, s.agents...)
	for i := range agents {
		agents[i].Stream = append([]web.LivePiece{}, agents[i].Stream...)
	}
	return agents, true
}

func (s *said) say(call events.ModelCallID, stream ...web.LivePiece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = []web.LiveAgent{
		{Agent: events.FacilitatorID, Phase: "tools"},
		{Agent: "food", Dispatch: "d1", Phase: "writing", Call: call, Attempt: 1, Stream: stream},
	}
}

func (s *said) use(progress string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[1].Phase, s.agents[1].Progress = "tools", progress
}

// Proves R71: all that an agent writes in its call under way is a key away: as it
// streams, once, arguments as text, what was missed marked; it follows its end until
// the reader scrolls up.
func TestStreamOfTokens(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("tokens")
	live := &said{simRuns: newSimRuns(t, log, sim.Options{})}
	live.say("d1.1", web.LivePiece{Text: "Größe 漢字 ", Begins: true})
	server := serve(t, web.Config{Log: log, Runs: live})
	b := browse(t)
	b.open(server.url("/runs/" + string(s.run)))
	b.wait(`document.querySelector('.now .tail')?.innerText !== undefined && document.querySelectorAll('.now button.who').length === 2`)
	js[bool](b, `(document.querySelectorAll('.now button.who')[1].focus(), true)`)
	b.press(kb.Enter)
	b.wait(`document.querySelectorAll('.now button.who')[1].ariaExpanded === 'true'`)
	shows := func(text string) {
		b.t.Helper()
		b.wait(fmt.Sprintf(`document.querySelector('.now .stream')?.textContent === %q`, text))
	}
	shows("Größe 漢字 ")
	first := "Größe 漢字 and 🎈. "
	live.say("d1.1", web.LivePiece{Text: first, Begins: true})
	shows(first)
	arguments := `{"section":"day 1","tags":["a","b"],"entries":[1,2],"content":"The \"tofu\" house\nis \ud83c\udf88 op`
	at := int64(len(first))
	live.say("d1.1", web.LivePiece{From: at - 2, Text: first[len(first)-2:]}, web.LivePiece{From: at, Text: arguments, InCall: true, Begins: true})
	shown := first + "\n\nsection: day 1\ntags: a, b\nentries: 1, 2\ncontent: The \"tofu\" house\nis 🎈 op"
	shows(shown)
	at += int64(len(arguments))
	live.say("d1.1", web.LivePiece{From: at, Text: `en."}`, InCall: true}, web.LivePiece{From: at + 5, Text: `{"id":3}`, InCall: true, Begins: true})
	shown += "en.\n\nid: 3"
	shows(shown)
	require.Equal(t, "id: 3", js[string](b, `(document.querySelectorAll('.now button.who')[1].click(), new Promise((done) => setTimeout(() => done(document.querySelectorAll('.now .tail')[1].innerText), 100)))`), "one line of it when it is closed")
	js[bool](b, `(document.querySelectorAll('.now button.who')[1].click(), true)`)
	shows(shown)
	at += 13 + 1000
	live.say("d1.1", web.LivePiece{From: at, Text: `","content":"After a while.`, InCall: true})
	shown += "…\ncontent: After a while."
	shows(shown)

	b.reload() // what came before is not in the log
	shows("…\ncontent: After a while.")

	// A long text of another call: it follows its end, and stays where a reader reads.
	long := strings.Repeat("A line of a long text.\n", 500)
	live.say("d1.2", web.LivePiece{Text: long, Begins: true})
	shows(long)
	bottom := `(() => { const e = document.querySelector('.now .stream'); return e.scrollTop + e.clientHeight >= e.scrollHeight - 8; })()`
	b.wait(bottom)
	js[bool](b, `(document.querySelector('.now .stream').focus(), true)`)
	b.press(kb.PageUp)
	b.wait("!" + bottom)
	b.wait(`(() => { const e = document.querySelector('.now .stream'); window.still = e.scrollTop === window.before ? window.still + 1 : 0; window.before = e.scrollTop; return window.still > 10; })()`)
	where := js[float64](b, `window.before`)
	live.say("d1.2", web.LivePiece{Text: long + "more\n", Begins: true})
	shows(long + "more\n")
	require.InDelta(t, where, js[float64](b, `document.querySelector('.now .stream').scrollTop`), 1, "it stays")
	require.Equal(t, 1, js[int](b, `document.querySelector('.now .stream').childNodes.length`))
	b.shot("run-tokens")
	b.scheme("dark")
	b.shot("run-tokens-dark")

	// Very much text: the end of it is kept.
	very := long + "more\n" + strings.Repeat("B line of a long text.\n", 10_000)
	live.say("d1.2", web.LivePiece{Text: very, Begins: true})
	b.wait(`document.querySelector('.now .stream').textContent.endsWith('B line of a long text.\n')`)
	kept := js[string](b, `document.querySelector('.now .stream').textContent`)
	require.LessOrEqual(t, len(kept), 100_000)
	require.True(t, strings.HasSuffix(very, kept))

	// While a tool works, what it says of how far it is stands in place of what was written.
	live.use("web__crawl: 3 of 6, <b>pages</b>")
	b.wait(`document.querySelector('.now .tail.why')?.innerText === 'web__crawl: 3 of 6, <b>pages</b>'`)
	b.clean()
}
