//go:build browser

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/thread"
	"github.com/convene-run/convene/web"
)

// chatRuns are runs that are slow enough to be watched.
func chatRuns(t testing.TB, log events.Log) *simRuns {
	return newSimRuns(t, log, sim.Options{FirstToken: 200 * time.Millisecond, PerChunk: 80 * time.Millisecond, ChunkBytes: 16})
}

// atRest waits until nothing is being said.
const atRest = `!document.querySelector('.saying') && !document.querySelector('.waiting')`

// write writes a message and sends it.
func (b *tab) write(text string) {
	b.t.Helper()
	b.click("#message")
	b.press(text, kb.Enter)
}

// shows waits until the conversation has the text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`document.querySelector('.messages')?.innerText.includes(%q)`, text))
}

// Proves R33 to R36 in a browser: a conversation is begun on the list, handed over, goes
// through its steps, survives a reload, is left in the middle, and is gone on with at once
// and a day later. A message counts once, however often it is sent.
func TestConversation(t *testing.T) {
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log, Runs: chatRuns(t, log)})
	b := browse(t)
	b.before(`window.spoken = new Set();
		addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
			const saying = document.querySelector('.saying .body')?.innerText;
			if (saying) window.spoken.add(saying);
		}).observe(document.body, {subtree: true, childList: true, characterData: true}))`)
	b.open(server.url("/#/threads"))
	b.wait(`document.querySelector('.start select')`)
	b.shot("threads-empty")
	js[bool](b, `(document.querySelector('.start select').append(new Option('skill-builder', 'skill-builder', true, true)), true)`)
	b.click("#new-request")
	b.press("I want to create a skill that sends Slack alerts")
	b.press(kb.Enter, kb.Enter, kb.Enter)
	b.wait(`location.hash.startsWith('#/threads/') && document.querySelector('.floor')?.innerText.includes('Skill Creation Assistant has the floor')`)
	b.wait(`document.querySelector('.mark')?.innerText.includes('Skill Creation Assistant')`)
	b.wait(`document.querySelector('.head')?.innerText.includes('Step 1 of 5') && ` + atRest)
	b.wait(`window.spoken.size > 1`) // its tokens were read as they came
	b.shot("chat-step-1")
	b.write("Deploys that failed, to the channel #ops")
	b.wait(`document.querySelector('.head')?.innerText.includes('Step 2 of 5') && ` + atRest)
	b.reload()
	b.wait(`document.querySelector('.head')?.innerText.includes('Step 2 of 5')`)
	b.shows("Deploys that failed, to the channel #ops")
	require.Contains(t, b.text(".workflow"), "defining triggers")
	b.push("Exit")
	b.wait(`document.querySelectorAll('.mark').length === 2`)
	b.wait(`document.querySelector('.floor')?.innerText.includes('Assistant answers') && document.querySelector('.offer') && ` + atRest)
	require.Contains(t, b.text(".offer"), "You left Skill Creation Assistant at step 2 of 5")
	b.shot("chat-left")

	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(js[string](b, `location.hash.slice('#/threads/'.length)`))}
	b.sameAs(log, key)
	b.click(".said.assistant .of-run")
	b.wait(`location.hash.startsWith('#/runs/') && document.querySelector('.timeline')`)
	b.clean()
}

// sameAs checks that the page has all that people and agents said, once and in order.
func (b *tab) sameAs(log events.Log, key events.ThreadKey) {
	b.t.Helper()
	th, err := thread.Load(b.t.Context(), log, key, 0)
	require.NoError(b.t, err)
	var who []string
	for _, m := range th.Messages(0, 0) {
		if m.Role != thread.RoleNotice { // those are lines between the messages
			who = append(who, string(m.Role))
		}
	}
	require.Equal(b.t, who, js[[]string](b, `[...document.querySelectorAll('.messages .said')].map((e) => e.classList[1])`))
}
