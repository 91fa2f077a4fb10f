package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
)

// Proves R74: how a run ended is its exit code, the worst thing first.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		result      runner.Result
		interrupted bool
		want        int
	}{
		{runner.Result{Status: events.StatusCompleted}, false, 0},
		{runner.Result{Status: events.StatusCompleted}, true, 0},
		{runner.Result{Status: events.StatusCompleted, Limit: events.LimitMaxTasks}, false, 0},
		{runner.Result{Status: events.StatusFailed}, false, 1},
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTokens, Failure: &events.Error{}}, true, 1},
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTokens}, true, 4}, // it admitted no first call
		{runner.Result{Status: events.StatusFailed, Limit: events.LimitMaxTasks}, false, 1},
		{runner.Result{Status: events.StatusCancelled}, false, 1},
		{runner.Result{Status: events.StatusRunning}, false, 1},
		{runner.Result{Status: events.StatusDegraded}, false, 3},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTasks}, false, 3},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTokens}, false, 4},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxCostUSD}, false, 4},
		{runner.Result{Status: events.StatusDegraded, Limit: events.LimitMaxTime}, true, 4},
		{runner.Result{Status: events.StatusAwaitingInput}, false, 5},
		{runner.Result{Status: events.StatusAwaitingInput}, true, 130},
		{runner.Result{Status: events.StatusSuspended}, true, 130},
	} {
		require.Equal(t, c.want, codeOf(c.result, c.interrupted), "%+v", c)
	}
}

func TestEdits(t *testing.T) {
	require.Equal(t, 0, edits("team", "team"))
	require.Equal(t, 1, edits("team", "tam"))
	require.Equal(t, 2, edits("tema", "team"))
	require.Equal(t, 4, edits("", "team"))
}

// tried says which command ends with which code in a script.
var tried = map[int]string{
	exitDone:        "run resume fork cancel batch chat runs batches show export replay store team models config doctor version help completion",
	exitFailed:      "run resume fork batch show store team doctor",
	exitUsage:       "run resume fork cancel batch chat serve runs batches show export replay store team models config doctor sim version help completion",
	exitDegraded:    "run resume fork batch",
	exitBudget:      "run resume fork batch",
	exitInput:       "run resume fork batch chat",
	exitAway:        "run resume fork batch chat team",
	exitDamaged:     "runs show export store audit",
	exitInterrupted: "run resume fork batch replay", // and chat, at a terminal: TestChatAtATerminal
}

// Proves R74: the codes that are documented come from the commands themselves.
func TestTriedExitCodes(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	var all strings.Builder
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		all.Write(text)
	}
	for code, commands := range tried {
		for command := range strings.FieldsSeq(commands) {
			how := fmt.Sprintf(`(?m)^(?:! )?(?:exits %[1]d|interrupt %[1]d .*--) convene (?:--store \S+ )?%s\b`, code, command)
			if code == exitDone {
				how = fmt.Sprintf(`(?m)^(?:exec|exits 0) convene (?:--store \S+ )?%s\b`, command)
			}
			assert.True(t, regexp.MustCompile(how).MatchString(all.String()), "no script has convene %s end with %d", command, code)
		}
	}
}
