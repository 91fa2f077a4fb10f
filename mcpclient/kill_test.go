package mcpclient_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/mcpclient"
	"github.com/convene-run/convene/mcpclient/mcptest"
)

// host connects to servers that do not end by themselves, says their process ids, and waits
// to be killed. It is what the test's own program does when it is started for that.
func host() {
	pool := mcpclient.New(mcpclient.Options{})
	for _, args := range [][]string{{"--with-child"}, {}} {
		listing, err := pool.List(context.Background(), "test", mcptest.Command(args...))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		tools, _ := pool.Tools("test", mcptest.Command(args...), listing)
		for _, tool := range tools {
			if external, ok := tool.Handler.(agent.External); ok && tool.Name == "test__hang" {
				go func() { _, _ = external.Call(context.Background(), agent.Invocation{}) }()
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // the calls are under way
	fmt.Println("ready")
	select {}
}

// below gives all processes below one: servers, their guards and their
// children.
func below(t *testing.T, parent int) []int {
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if above, there := parentOf(t, pid); there && above == parent {
			found = append(append(found, pid), below(t, pid)...)
		}
	}
	return found
}

// Killed with SIGKILL, a program leaves no server behind: not one that hangs in a call, nor
// what it has started.
func TestNothingOutlivesAKill(t *testing.T) {
	children(t) // skips where there is no /proc
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "MCPCLIENT_TEST_HOST=1")
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	line := make([]byte, len("ready\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(line))
	pids := below(t, program.Process.Pid)
	require.Len(t, pids, 5, "two servers, a child of one, two guards")
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !running(pid) }, time.Minute, 20*time.Millisecond, "process %d", pid)
	}
}

// running says whether a process is there and no zombie; in a container nobody may be there
// to reap those whose parent was killed.
func running(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, behind, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(behind, "Z")
}

// Closing a pool ends servers that hear nothing, and what they have started; none is left
// as a zombie.
func TestCloseEndsServers(t *testing.T) {
	children(t)
	pool := mcpclient.New(mcpclient.Options{})
	listing, err := pool.List(t.Context(), "test", mcptest.Command("--with-child"))
	require.NoError(t, err)
	require.NotEmpty(t, listing.Tools)
	pids := below(t, os.Getpid())
	require.Len(t, pids, 3, "the server, its child, the guard")
	go func() { // a server that never answers
		_, _ = pool.List(context.Background(), "deaf", mcptest.Command("--with-child", "--deaf"))
	}()
	require.Eventually(t, func() bool { return len(below(t, os.Getpid())) == 6 }, time.Minute, 10*time.Millisecond)
	pids = below(t, os.Getpid())
	pool.Close()
	pool.Close()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !running(pid) }, time.Minute, 10*time.Millisecond, "process %d was killed", pid)
	}
	require.Empty(t, children(t))
	_, err = pool.List(t.Context(), "test", mcptest.Command())
	require.ErrorContains(t, err, "the program is ending")
}

// A server that was killed from outside is noticed without a call, and comes back.
func TestServerKilledFromOutside(t *testing.T) {
	children(t)
	w := with(t, mcptest.Command(), mcpclient.Options{})
	server, err := os.FindProcess(children(t)[0])
	require.NoError(t, err)
	require.NoError(t, server.Kill())
	known := regexp.MustCompile(`^(back|Error: during the call the MCP server test ended .*\(signal: killed\).*|Error: unavailable: .*)$`)
	for said := ""; said != "back"; time.Sleep(10 * time.Millisecond) {
		said = w.call("echo", `{"text":"back"}`).Text
		require.Regexp(t, known, said)
	}
}
