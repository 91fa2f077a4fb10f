package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// reply is what a scripted model answers: a text, and calls by name with their arguments.
// Where down is set the request is refused.
type reply struct {
	text  string
	calls [][2]string
	down  bool
}

// scripted serves chat completions: what a model answers is decided by its system prompt and
// the newest message.
func scripted(t *testing.T, decide func(system, newest string) reply) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
		}
		if json.NewDecoder(r.Body).Decode(&request) != nil || len(request.Messages) == 0 {
			http.NotFound(w, r)
			return
		}
		answer := decide(request.Messages[0].Content, request.Messages[len(request.Messages)-1].Content)
		if answer.down {
			http.Error(w, `{"error":{"message":"this agent is down"}}`, http.StatusBadRequest)
			return
		}
		delta, finish := map[string]any{"role": "assistant", "content": answer.text}, "stop"
		var calls []any
		for i, call := range answer.calls {
			calls, finish = append(calls, map[string]any{
				"index": i, "id": fmt.Sprintf("call_%d_%d", len(request.Messages), i), "type": "function",
				"function": map[string]string{"name": call[0], "arguments": call[1]},
			}), "tool_calls"
		}
		if calls != nil {
			delta["tool_calls"] = calls
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
			body, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "scripted", "choices": []any{choice}})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", body)
		}
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// chats has the lines said to a team, and gives what came out on both sides.
func chats(t *testing.T, address, team string, lines ...string) (stdout, stderr string) {
	t.Helper()
	return chatsUntil(t, exitDone, address, team, lines...)
}

// chatsUntil is chats of a conversation whose last run ends with the exit code.
func chatsUntil(t *testing.T, exit int, address, team string, lines ...string) (stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "team.yaml"), []byte(team), 0o600))
	cmd := exec.Command("convene", "chat", "--team", "team.yaml", "--store", "chat.db", "--base-url", address, "--model", "openai/scripted?api=chat")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAI_API_KEY=none")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, err)
	require.Equal(t, exit, cmd.ProcessState.ExitCode(), "%s\n%s", &out, &log)
	return out.String(), log.String()
}

// twoSpecialists is a team of two that may both take over; the policy is for a second handoff.
const twoSpecialists = `name: desk
specialists:
  - {id: alpha, display_name: Alpha, description: Builds things., prompt: You build things.}
  - {id: beta, display_name: Beta, description: Takes payments., prompt: You take payments.}
document:
  sections:
    - {id: notes, title: Notes}
handoff:
  second: %s
  targets:
    - {agent: alpha}
    - {agent: beta}
`

// asksForBoth is a facilitator that hands over to both specialists at once; these give the
// conversation back once the user says so.
func asksForBoth(system, newest string) reply {
	handoff := func(target string) [2]string {
		return [2]string{"handoff_conversation", `{"target":"` + target + `","reason":"asked for","summary":"Wants both"}`}
	}
	switch {
	case strings.Contains(system, "the facilitator of a team") && newest == "Both, please":
		return reply{calls: [][2]string{handoff("alpha"), handoff("beta")}}
	case strings.Contains(system, "the facilitator of a team"):
		return reply{text: "Both are done."}
	case newest == "Alpha is done" && strings.Contains(system, "You are Alpha"), newest == "Beta is done" && strings.Contains(system, "You are Beta"):
		return reply{calls: [][2]string{{"return_control", `{"completion_status":"completed","result_summary":"Done"}`}}}
	case strings.Contains(system, "You are Alpha"):
		return reply{text: "Alpha is here."}
	}
	return reply{text: "Beta is here."}
}

// Proves R32 at the command line: a second handoff is refused with a sentence for the user, or
// begins when the first is over, by the team's policy.
func TestSecondHandoffAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	address := scripted(t, asksForBoth)
	said, told := chats(t, address, fmt.Sprintf(twoSpecialists, "reject"), "Both, please", "/status")
	require.Equal(t, "Alpha › Alpha is here.\n\n", said)
	require.Contains(t, told, "You're currently in a session with Alpha. Would you like to finish that first?")
	require.Contains(t, told, "with      Alpha")

	said, told = chats(t, address, fmt.Sprintf(twoSpecialists, "queue"), "Both, please", "Alpha is done", "Beta is done", "/status")
	require.Equal(t, "Alpha › Alpha is here.\n\nBeta › Beta is here.\n\nFacilitator › Both are done.\n\n", said)
	require.NotContains(t, told, "finish that first")
	require.Contains(t, told, "with      Facilitator")
}

// Proves R73: an answer to a question may be the number of its choice, or any words.
func TestChoicesByNumber(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	address := scripted(t, func(_, newest string) reply {
		if strings.HasPrefix(newest, "Plan") {
			return reply{calls: [][2]string{{"ask_user", `{"question":"How do you want to go?","choices":["by train","by car"]}`}}}
		}
		return reply{text: "You said: " + newest}
	})
	team := fmt.Sprintf(twoSpecialists, "reject")
	said, _ := chats(t, address, team, "Plan a day", "2")
	require.Contains(t, said, "How do you want to go?")
	require.Regexp(t, `1\W+by train\s+2\W+by car`, said)
	require.Contains(t, said, "You said: The user answers: by car")
	said, _ = chats(t, address, team, "Plan a day", "3")
	require.Contains(t, said, "You said: The user answers: 3")
}

// Proves journey 3 of the first source and its edge case "sub-agent unavailable" at the command
// line: the facilitator asks specialists behind the scenes and answers alone; who did not answer
// is named to it.
func TestConsultationAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	asks := func(down bool) func(system, newest string) reply {
		return func(system, newest string) reply {
			switch {
			case !strings.Contains(system, "the facilitator of a team") && strings.Contains(system, "You are Alpha"):
				return reply{text: "By tokens."}
			case !strings.Contains(system, "the facilitator of a team"):
				return reply{text: "By requests.", down: down}
			case newest == "How do I limit rates?":
				return reply{calls: [][2]string{{"ask_specialists", `{"question":"How are rates limited?"}`}}}
			}
			return reply{text: "I read: " + newest}
		}
	}
	team := fmt.Sprintf(twoSpecialists, "reject")
	said, _ := chats(t, scripted(t, asks(false)), team, "How do I limit rates?", "/status")
	require.True(t, strings.HasPrefix(said, "Facilitator › I read: "), said)
	require.Contains(t, said, "By tokens.")
	require.Contains(t, said, "By requests.")
	require.NotContains(t, said, "Alpha ›")
	said, _ = chats(t, scripted(t, asks(true)), team, "How do I limit rates?", "/status")
	require.Contains(t, said, "By tokens.")
	require.Contains(t, said, "this agent is down")
}
