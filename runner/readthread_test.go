package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm/llmtest"
)

// reading is a call of read_thread, and what it told.
func reading(t *testing.T, client *llmtest.Scripted, agent string) string {
	t.Helper()
	requests := client.Requests(agent)
	messages := requests[len(requests)-1].Messages
	last := messages[len(messages)-1]
	require.Equal(t, events.RoleTool, last.Role)
	return last.Content
}

// Proves R25: whoever talks with the user reads what was said in the thread, by whomever
// and in which run, without what the engine wrote and what tools did.
func TestReadThread(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	k.say(llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Good day.\nWhat can I do?"))), "Hello")
	k.say(llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("I connect you.", handoff("alpha"))),
		llmtest.Agent(alphaTalks, llmtest.Calls("", step("gathering", nil)), llmtest.Says("Which channel?"))), "A skill, please")

	asks := func(a args) *llmtest.Scripted {
		return llmtest.Script(t, llmtest.Agent(alphaTalks, llmtest.Calls("", llmtest.Call("read_thread", a)), llmtest.Says("I see.")))
	}
	all := asks(args{})
	k.say(all, "#ops")
	require.Equal(t, strings.Join([]string{
		"1. user: Hello", "2. Facilitator:\n> Good day.\n> What can I do?", "3. user: A skill, please",
		"4. Facilitator: I connect you.", "5. Alpha: Which channel?", "6. user: #ops",
	}, "\n\n"), reading(t, all, alphaTalks))

	page := asks(args{"count": 2, "before": 4})
	k.say(page, "Well?")
	require.Equal(t, "(1 earlier messages: read_thread with before=2.)\n\n2. Facilitator:\n> Good day.\n> What can I do?\n\n3. user: A skill, please",
		reading(t, page, alphaTalks))

	wrong := asks(args{"count": 1000})
	k.say(wrong, "And now?")
	require.Contains(t, reading(t, wrong, alphaTalks), "100")

	client := llmtest.Script(t,
		llmtest.Agent(alphaTalks, llmtest.Calls("", giveBack("completed", "Done"))),
		llmtest.Agent(boss, llmtest.Calls("", llmtest.Call("read_thread", args{"before": 1})), llmtest.Says("Done.")))
	k.say(client, "Thanks")
	require.Contains(t, reading(t, client, boss), "There are no messages before that one")
}

// What does not fit into one read is left to the next, and a message that never fits is cut.
func TestReadThreadFits(t *testing.T) {
	k := &talk{t: t, log: events.NewMemory()}
	for i := range 4 {
		k.say(llmtest.Script(t, llmtest.Agent(boss, llmtest.Says(fmt.Sprint(i)))), strings.Repeat(fmt.Sprint(i), 9_000))
	}
	long := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", llmtest.Call("read_thread", args{})), llmtest.Says("Hm.")))
	k.say(long, strings.Repeat("x", 20_000))
	text := reading(t, long, boss)
	require.Contains(t, text, "9. user: "+strings.Repeat("x", 20_000))
	require.NotContains(t, text, "7. user")
	require.Contains(t, text, "(7 earlier messages: read_thread with before=8.)")

	huge := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", llmtest.Call("read_thread", args{})), llmtest.Says("Hm.")))
	k.say(huge, strings.Repeat("y", 60_000))
	require.Contains(t, reading(t, huge, boss), "more characters are not shown.)")
}
