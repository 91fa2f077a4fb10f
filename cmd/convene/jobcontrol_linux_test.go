package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/race"
)

// Proves R70: ^Z takes the picture away and leaves the shell a terminal in order; fg draws it
// anew below what was written there meanwhile.
func TestStoppedAndContinued(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	for name, command := range map[string]string{
		"run":   `convene run "Plan a day in Kyoto"`,
		"batch": `printf 'Plan a day\n' >rows.txt; convene batch rows.txt -o out.jsonl`,
		"chat":  `convene chat`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, open := gated(t)
			dir := t.TempDir()
			p := programAtTerminal(t, []string{"PS1=READY> ", "ENV="}, "sh", "-im")
			p.shows("READY> ")
			p.types("cd " + dir + "; " + command + " --base-url " + model + " --store " + filepath.Join(dir, "s.db") + "\r")
			under := map[string]string{"run": "running", "batch": "0 of 1 done", "chat": "› "}[name]
			p.shows(under)
			require.Eventually(t, func() bool { return !p.echoes() }, time.Minute, 10*time.Millisecond)

			p.types("\x1a")
			require.Eventually(t, func() bool { return strings.HasSuffix(p.text(), "READY> ") }, time.Minute, 10*time.Millisecond)
			require.Contains(t, p.raw(), "\x1b[J\x1b[?25h", "the picture is taken away and the cursor shown")
			require.True(t, p.echoes())
			p.types("echo mi''ne\r")
			p.shows("mine", "READY> ")

			p.types("fg\r")
			require.Eventually(t, func() bool { return strings.Contains(p.text(), under) }, time.Minute, 10*time.Millisecond)
			before, _, _ := strings.Cut(p.raw(), under)
			require.NotRegexp(t, `\x1b\[\d+A`, before, "nothing above is drawn over")
			require.False(t, p.echoes())
			open()
			if name == "chat" {
				p.types("\x04")
				p.shows("READY> ")
			} else {
				p.shows("completed", "READY> ")
			}
			require.True(t, p.echoes())
			p.types("exit\r")
			p.ends(exitDone)
		})
	}
}

// ^Z where no shell could have the program go on changes nothing.
func TestStoppedWithoutAShell(t *testing.T) {
	race.Processes(t)
	t.Parallel()
	model, open := gated(t)
	p := atTerminal(t, nil, "run", "Plan a day in Kyoto", "--base-url", model, "--store", filepath.Join(t.TempDir(), "s.db"))
	p.shows("running")
	p.types("\x1a")
	open()
	p.shows("✓ completed")
	p.ends(exitDone)
}
