//go:build browser

package web_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/race"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/team"
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
	t.Parallel()
	log := events.NewMemory()
	server := serve(t, web.Config{Log: log, Runs: chatRuns(t, log)})
	b := browse(t)
	b.before(`window.spoken = new Set();
		addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
			const saying = document.querySelector('.saying .body')?.innerText;
			if (saying) window.spoken.add(saying);
		}).observe(document.body, {subtree: true, childList: true, characterData: true}))`)
	b.open(server.url("/threads"))
	b.wait(`document.querySelector('.start select')`)
	b.shot("threads-empty")
	js[bool](b, `(document.querySelector('.start select').append(new Option('skill-builder', 'skill-builder', true, true)), true)`)
	b.click("#new-request")
	b.press("I want to create a skill that sends Slack alerts")
	b.press(kb.Enter, kb.Enter, kb.Enter)
	b.wait(`location.pathname.startsWith('/threads/') && document.querySelector('.floor')?.innerText.includes('Skill Creation Assistant has the floor')`)
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
	require.Contains(t, b.text(".offer"), "Skill Creation Assistant was left at step 2 of 5")
	b.shot("chat-left")

	resumed := `document.querySelector('.floor')?.innerText.includes('Skill Creation Assistant has the floor') && document.querySelector('.head').innerText.includes('Step 2 of 5') && ` + atRest
	b.click(".offer button")
	b.wait(resumed)
	b.shows("Reconnecting you with Skill Creation Assistant")
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(js[string](b, `location.pathname.slice('/threads/'.length)`))}
	b.sameAs(log, key)

	server.stop()
	log = dayLater(t, log, key)
	b.forgetErrors()
	again := serve(t, web.Config{Log: log, Runs: chatRuns(t, log), Address: server.address})
	defer again.stop()
	b.reload()
	b.wait(`document.querySelector('.head')?.innerText.includes('Step 2 of 5')`)
	b.write("Hello again")
	b.wait(`document.querySelector('.floor').innerText.includes('Assistant answers') && document.querySelector('.offer') && ` + atRest)
	b.shot("chat-day-later")
	b.click(".offer button")
	b.wait(resumed)
	b.sameAs(log, key)
	b.click(".said.assistant .of-run")
	b.wait(`location.pathname.startsWith('/runs/') && document.querySelector('.timeline')`)
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

// dayLater is the same thread, a day ago.
func dayLater(t testing.TB, log events.Log, key events.ThreadKey) *events.Memory {
	t.Helper()
	envs, err := log.Read(t.Context(), key, 0, 0)
	require.NoError(t, err)
	for i := range envs {
		envs[i].Time = envs[i].Time.Add(-25 * time.Hour)
	}
	older := events.NewMemory()
	epoch, err := older.Claim(t.Context(), key, "test", false)
	require.NoError(t, err)
	require.NoError(t, older.Append(t.Context(), key, epoch, 0, envs))
	require.NoError(t, older.Release(t.Context(), key, epoch))
	return older
}

// Proves R49 in a browser: a thread that waits for a person stands first in the list, and is
// answered at the desk; what its user writes meanwhile is queued. A question is answered by
// one of its choices, once.
func TestDesk(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	c := tellSupport(t, log)
	c.hears("I want to talk to a person", events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"})
	c.by("billing", "h1", events.InputRequested{InputID: "i1", For: events.InputQuestion, Question: "Refund the second charge of €39.00?", Choices: []string{"Yes, refund it", "No"}})
	c.by("billing", "h1", events.InputRequested{InputID: "i2", For: events.InputHuman, Question: "I want to talk to a person"})
	c.add(events.RunSuspended{AwaitingInput: true})
	require.NoError(t, log.Release(t.Context(), c.key, c.epoch))
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/threads"))
	b.wait(`document.querySelector('.threads li')`)
	require.Contains(t, b.text(".threads li"), "waits for a person")
	require.Contains(t, b.text(".threads li"), "Refund the second charge")
	b.shot("threads")
	b.click(".threads a")
	b.wait(`document.querySelector('#message')?.placeholder.startsWith('Answer in the agent')`)
	b.before(`window.posts = 0; const real = fetch; window.fetch = (path, how) => { if (how?.method === 'POST') { window.posts++; return new Promise(() => {}); } return real(path, how); }`)
	b.reload()
	b.wait(`document.querySelector('.choices button')`)
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"chat-desk", "light", 1440, 900}, {"chat-desk-dark", "dark", 1440, 900}, {"chat-desk-phone", "light", 390, 844}} {
		b.scheme(look.scheme)
		b.size(look.width, look.height, look.width < 600)
		b.shot(look.name)
		require.False(t, js[bool](b, `document.documentElement.scrollWidth > innerWidth`), "%s: nothing scrolls sideways", look.name)
		if _, err := os.Stat("node_modules/axe-core"); err == nil && !race.Enabled {
			require.Equal(t, "[]", violations(b, allRules), look.name)
		}
	}
	js[bool](b, `(() => { const yes = [...document.querySelectorAll('.choices button')].find((e) => e.innerText === 'Yes, refund it'); yes.click(); yes.click(); yes.click(); return true; })()`)
	b.wait(`window.posts === 1 && document.querySelector('.waiting')?.innerText.includes('Yes, refund it')`)
	b.clean()
}

// Proves R49 in a browser: a call that waits for approval is shown with its arguments, which can
// be edited, and is decided once.
func TestApprovalOnThePage(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	c := tellSupport(t, log)
	c.hears("Tell them", events.MessageRouted{Agent: "billing", Tier: events.TierHandoff, Rule: "h1"})
	c.by("billing", "h1", events.InputRequested{
		InputID: "i1", For: events.InputApproval, Question: "Billing wants to call send_mail", Call: "c9",
		Action: &events.Action{Tool: "send_mail", Arguments: `{"to":"<b>all</b>"}`, Effect: events.EffectEffectful, ModelCall: "h1.2"},
	})
	c.add(events.RunSuspended{AwaitingInput: true})
	require.NoError(t, log.Release(t.Context(), c.key, c.epoch))
	server := serve(t, web.Config{Log: log})
	b := browse(t)
	b.open(server.url("/threads"))
	b.wait(`document.querySelector('.threads li')?.innerText.includes('waits for an approval')`)
	b.click(".threads a")
	b.before(`window.posts = []; const real = fetch; window.fetch = (path, how) => { if (how?.method === 'POST') { window.posts.push(JSON.parse(how.body)); return new Promise(() => {}); } return real(path, how); }`)
	b.reload()
	b.wait(`document.querySelector('.question pre')?.innerText.includes('"to": "<b>all</b>"')`)
	b.clickText(".question button", "Edit the arguments")
	b.wait(`document.querySelector('.question textarea')`)
	b.click(".question textarea")
	b.press(kb.Escape)
	b.wait(`!document.querySelector('.question textarea')`)
	b.clickText(".question button", "Edit the arguments")
	b.wait(`(() => { const text = document.querySelector('.question textarea'); if (!text) return false; text.value = '{"to":'; text.dispatchEvent(new Event('input')); return true; })()`)
	b.clickText(".question button", "Approve with these")
	b.wait(`document.querySelector('.question [role=alert]')?.innerText.includes('no JSON object') && window.posts.length === 0`)
	js[bool](b, `(() => { const text = document.querySelector('.question textarea'); text.value = '{"to":"ann"}'; text.dispatchEvent(new Event('input')); return true; })()`)
	b.clickText(".question button", "Approve with these")
	b.wait(`window.posts.length === 1 && JSON.stringify(window.posts[0].approval) === '{"decision":"approve","arguments":{"to":"ann"}}' && window.posts[0].input_id === 'i1'`)
	if _, err := os.Stat("node_modules/axe-core"); err == nil && !race.Enabled {
		require.Equal(t, "[]", violations(b, allRules))
	}
	b.clean()
}

// Proves R49 in a browser, with a runner behind it: whoever asks for a person waits in the list
// of threads, is answered at the desk, writes on meanwhile, and is back with the agents once the
// person has released the conversation.
func TestDeskAnswersAndReleases(t *testing.T) {
	t.Parallel()
	log := events.NewMemory()
	runs := newSimRuns(t, log, sim.Options{})
	server := serve(t, web.Config{Log: log, Runs: runs})
	c := newChat(t, server)
	c.say("I want to speak to a human about my invoice", `"team":"support"`)
	c.rests()
	c.say("Is anybody there?")
	b := browse(t)
	b.open(server.url("/threads"))
	b.wait(`document.querySelector('.threads li')?.innerText.includes('waits for a person')`)
	b.click(".threads a")
	b.wait(`document.querySelector('#message')?.placeholder.startsWith('Answer in the agent')`)
	b.write("I am Joe, and it is on its way.")
	b.shows("I am Joe, and it is on its way.")
	b.wait(`document.querySelector('.messages').innerText.includes('Is anybody there?') && document.querySelector('#message')?.placeholder.startsWith('Answer in the agent')`)
	require.Eventually(t, func() bool { v := c.context(); return len(v.Queued) == 0 && len(v.Inputs) == 1 }, time.Minute, 10*time.Millisecond)
	b.write("Yes, I am.")
	b.shows("Yes, I am.")
	require.Eventually(t, func() bool { return len(c.context().Inputs) == 0 }, time.Minute, 10*time.Millisecond)
	b.push("Release")
	b.wait(`!document.querySelector('.floor')?.innerText.includes('person') && ` + atRest)
	require.Equal(t, events.FacilitatorID, c.rests().Agent)
	b.wait(`[...document.querySelectorAll('.messages .said')].length === ` + fmt.Sprint(len(c.talk())))
	require.Equal(t, []string{"user", "assistant", "user", "assistant", "assistant"}, // a message that waited stands where its turn came
		js[[]string](b, `[...document.querySelectorAll('.messages .said')].map((e) => e.classList[1])`))
	b.clean()
}

// Proves R49 in a browser, "all may answer": a person who is asked beside the agents releases the
// conversation without an answer, and is not waited for any more.
func TestReleasesWhoIsAskedBesideTheAgents(t *testing.T) {
	t.Parallel()
	tm, err := team.Builtin("support")
	require.NoError(t, err)
	for i := range tm.Handoff.Targets {
		tm.Handoff.Targets[i].AllMayAnswer = tm.Handoff.Targets[i].Agent == events.HumanID
	}
	d := newDesk(t, newModelServer(t), map[string]*team.Team{"support": tm})
	c := newChat(t, d.served)
	c.say("I want to speak to a human about my invoice", `"team":"support"`)
	require.NotNil(t, c.rests().Person)
	b := browse(t)
	b.open(d.url("/threads/" + string(c.thread)))
	for _, label := range []string{"Answer as a person", "Release"} {
		b.clickText(".choices button", label)
	}
	b.wait(`!document.body.innerText.includes('Answer as a person')`)
	require.Eventually(t, func() bool { return c.context().Person == nil }, time.Minute, 10*time.Millisecond)
	require.Empty(t, c.context().Inputs)
	b.clean()
}

// talk are the thread's messages without convene's own.
func (c *chat) talk() (list []thread.Message) {
	for _, m := range c.messages("?after=0&limit=500").Messages {
		if m.Role != thread.RoleNotice {
			list = append(list, m)
		}
	}
	return list
}
