package specialists

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/handoff"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// defaultMessages and maxMessages are how many messages read_thread shows unasked and at
// most: a screen of a conversation, and as much as a reader follows.
const (
	defaultMessages = 20
	maxMessages     = 100
)

type readThreadArgs struct {
	Count  int `json:"count,omitempty" jsonschema:"Defaults to 20."`
	Before int `json:"before,omitempty" jsonschema:"Number of a message: shows those before it. Defaults to the newest."`
}

// ReadThread is the tool that shows what the user and the agents said in the thread, in this
// run and before it. Agents that talk with the user have it, and the facilitator who hands
// the conversation over to them.
//
// The facilitator reads them as they were said, others with placeholders, as with all that is
// passed on to them.
func ReadThread(t *team.Team, desk *handoff.Desk) agent.Tool {
	return loop.PureFunc(llm.Tool{
		Name: "read_thread",
		Description: "Shows what the user and the agents who talk with them said, each message with its number. " +
			"One of several lines is shown behind \"> \", which is not part of it.",
		Parameters: agent.Schema[readThreadArgs](func(schema *jsonschema.Schema) {
			count, before := schema.Properties["count"], schema.Properties["before"]
			count.Minimum, count.Maximum, before.Minimum = new(1.0), new(float64(maxMessages)), new(1.0)
		}),
	}, func(tx *thread.Tx, in *agent.Invocation, args readThreadArgs) agent.Result {
		if args.Count < 0 || args.Count > maxMessages || args.Before < 0 {
			return agent.Refuse(fmt.Errorf("count=%d before=%d: give a count from 1 to %d, and the number of a message, 1 or above", args.Count, args.Before, maxMessages))
		}
		if args.Count == 0 {
			args.Count = defaultMessages
		}
		clean := func(m *thread.Message) string { return m.Content }
		if in.Agent != events.FacilitatorID {
			clean = func(m *thread.Message) string { return desk.CleanMessage(tx, m) }
		}
		return agent.Result{Text: readMessages(tx.Run.Thread(), args, t.Limits.MaxReadChars, clean)}
	})
}

// readMessages shows messages, the newest of them whole, as far as they fit.
func readMessages(th *thread.Thread, args readThreadArgs, budget int, clean func(*thread.Message) string) string {
	all := slices.DeleteFunc(slices.Clone(th.Messages(0, 0)), func(m thread.Message) bool { return m.Role == thread.RoleNotice })
	until := len(all)
	if args.Before > 0 {
		until = min(until, args.Before-1)
	}
	from := until
	var shown []string
	for from > max(0, until-args.Count) && (budget > 0 || from == until) {
		text := readMessage(from, &all[from-1], clean(&all[from-1]), max(budget, 1))
		if budget -= chars.Count(text); budget < 0 && from < until {
			break
		}
		shown = append(shown, text)
		from--
	}
	if len(shown) == 0 {
		return fmt.Sprintf("There are no messages before that one; the thread has %d.", len(all))
	}
	var b strings.Builder
	if from > 0 {
		fmt.Fprintf(&b, "(%d earlier messages: read_thread with before=%d.)\n\n", from, from+1)
	}
	for i := len(shown) - 1; i >= 0; i-- {
		b.WriteString(shown[i] + "\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}

// readMessage shows a message behind its number and who said it.
func readMessage(number int, m *thread.Message, content string, budget int) string {
	who := string(m.Role)
	if m.Role == events.RoleAssistant {
		who = m.DisplayName
	}
	head, more := chars.Cut(content, budget)
	text := quote.After(fmt.Sprintf("%d. %s:", number, who), head)
	if more > 0 {
		text += fmt.Sprintf("\n(%d more characters are not shown.)", more)
	}
	return text
}
