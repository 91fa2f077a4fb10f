package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/internal/race"
)

// Proves the edge case "thread id mismatch" of the first source at the command line: a
// conversation of another tenant in the same store is not there for the local user, who begins
// one of that id instead, and what the other said and was answered stays as it is.
func TestForeignThreadAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	const thread = "3c2f6d0e-91aa-4f57-8a43-0a8f2f3f1d22"
	dir := t.TempDir()
	store, foreign := filepath.Join(dir, "s.db"), events.ThreadKey{Tenant: "other", Thread: thread}
	run := events.RunID(uuid.Must(uuid.NewV7()).String())
	log, err := sqlite.Open(t.Context(), store)
	require.NoError(t, err)
	epoch, err := log.Claim(t.Context(), foreign, "test", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), foreign, epoch, 0, []events.Envelope{{Run: run, Data: events.WorkflowStarted{Message: "a secret of the others"}}}))
	require.NoError(t, log.Close())

	convene := func(stdin string, args ...string) (output string, err error) {
		cmd := exec.Command("convene", append(args, "--store", store)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		require.NotContains(t, string(out), "a secret of the others", args)
		return string(out), err
	}
	for _, args := range [][]string{{"show", string(run)}, {"resume", string(run)}, {"cancel", string(run)}, {"export", string(run), "--jsonl"}} {
		said, err := convene("", args...)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, said)
		require.Equal(t, 2, exit.ExitCode(), said)
		require.Contains(t, said, "no run", args)
	}
	said, err := convene("/history\n", "chat", "--team", "skill-builder", "--model", "sim", "--thread", thread)
	require.NoError(t, err, said)
	said, err = convene("Hello\n", "chat", "--team", "skill-builder", "--model", "sim", "--thread", thread)
	require.NoError(t, err, said)
	require.Contains(t, said, "Assistant › ")

	log, err = sqlite.Open(t.Context(), store)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	envs, err := log.Read(t.Context(), foreign, 0, 0)
	require.NoError(t, err)
	require.Len(t, envs, 1, "nothing was added to it")
}

// Proves the edge case "long-running orchestration" of the first source at the command line: the
// user reads that it takes longer than expected, and after the limit the main agent answers
// without whoever was late.
func TestLongRunningAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	late := make(chan struct{})
	address := scripted(t, func(system, newest string) reply {
		switch {
		case !strings.Contains(system, "the facilitator of a team"):
			<-late
			return reply{text: "Too late."}
		case newest == "How do I limit rates?":
			return reply{calls: [][2]string{{"ask_specialists", `{"question":"How are rates limited?"}`}}}
		}
		return reply{text: "I read: " + newest}
	})
	t.Cleanup(func() { close(late) }) // before the server waits for its requests
	const team = `name: desk
specialists:
  - {id: alpha, display_name: Alpha, description: Knows all., prompt: You know all.}
document:
  sections:
    - {id: notes, title: Notes}
handoff:
  targets:
    - {agent: alpha}
conversation:
  messages: {taking_longer: "One moment, please"}
limits:
  silence_notice: 1s
  silence_slow: 2s
  specialist_timeout: 8s
`
	said, told := chatsUntil(t, exitDegraded, address, team, "How do I limit rates?", "/status")
	require.Regexp(t, `One moment, please \(Alpha, 0:0[2-9]\)`, told)
	require.True(t, strings.HasPrefix(said, "Facilitator › I read: "), said)
	require.NotContains(t, said, "Too late.")
}

// A message of a thread may fill the request template of its team, as a row of a batch does;
// what the user says next is passed on as it is.
func TestMessageWithVarsAtTheCommandLine(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	address := scripted(t, func(_, newest string) reply { return reply{text: "I read: " + newest} })
	const thread = "3c2f6d0e-91aa-4f57-8a43-0a8f2f3f1d23"
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("team.yaml", "name: desk\nrequest: \"In {{city}}: {{request}}\"\nspecialists:\n  - {id: alpha, description: Knows all., prompt: You know all.}\n"+
		"document:\n  sections:\n    - {id: notes, title: Notes}\n")
	write("in.jsonl", `{"id":"a","thread_id":"`+thread+`","request":"Where to eat?","vars":{"city":"Kyoto"}}`+"\n"+
		`{"id":"b","thread_id":"`+thread+`","request":"And there?","vars":{"city":"Nara"}}`+"\n")
	convene := func(stdin string, args ...string) (output string, err error) {
		cmd := exec.Command("convene", append(args, "--team", "team.yaml", "--store", "s.db", "--base-url", address, "--model", "openai/scripted?api=chat")...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), "OPENAI_API_KEY=none"), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	said, err := convene("", "batch", "in.jsonl", "-o", "out.jsonl")
	require.NoError(t, err, said)
	out, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
	require.NoError(t, err)
	var answers []string
	for line := range strings.Lines(string(out)) {
		var row struct{ Answer string }
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		answers = append(answers, row.Answer)
	}
	require.Equal(t, []string{"I read: In Kyoto: Where to eat?", "I read: In Nara: And there?"}, answers)

	for _, args := range [][]string{{"run", "Where to eat?"}, {"chat"}} {
		said, err = convene("Where to eat?\n", args...)
		require.Error(t, err)
		require.Contains(t, said, "the request template of team desk needs a value for city", args)
	}
}
