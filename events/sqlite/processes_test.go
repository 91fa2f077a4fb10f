package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// childEnv makes the test binary one of the second processes below.
const childEnv = "CONVENE_TEST_CHILD"

var sharedKey = events.ThreadKey{Tenant: events.LocalTenant, Thread: "shared"}

func TestMain(m *testing.M) {
	role, path, found := strings.Cut(os.Getenv(childEnv), ":")
	if !found {
		os.Exit(m.Run())
	}
	if err := children[role](context.Background(), path); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// children are what second processes do with the file. They print a line for
// each thing done.
var children = map[string]func(context.Context, string) error{
	"open":   childOpen,
	"append": childAppend,
	"post":   childPost,
	"hold":   childHold,
	"batch":  childBatch,
	"read":   childRead,
	"remove": childRemove,
	"put":    childPut,
	"repack": childRepack,
}

// childBatch tells of a batch's progress until it is killed.
func childBatch(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(fmt.Sprintf("batch-%d", os.Getpid()))}
	epoch, err := log.Claim(ctx, key, "child", false)
	if err != nil {
		return err
	}
	fmt.Println("batch", key.Thread)
	var fact events.Event = events.BatchStarted{Rows: 1000}
	for done := 0; ; done++ {
		if err := log.Append(ctx, key, epoch, events.Seq(done), []events.Envelope{{Data: fact}}); err != nil {
			return err
		}
		fmt.Println("acknowledged", done)
		fact = events.BatchProgress{BatchFigures: events.BatchFigures{Done: done + 1}}
	}
}

func childOpen(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	return log.Close()
}

// childAppend appends to a thread of its own until it is killed.
func childAppend(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(fmt.Sprintf("pid-%d", os.Getpid()))}
	epoch, err := log.Claim(ctx, key, "child", false)
	if err != nil {
		return err
	}
	fmt.Println("thread", key.Thread)
	for after := events.Seq(0); ; after += 2 {
		envs := []events.Envelope{{Run: "r", Data: events.Warning{Code: "a"}}, {Run: "r", Data: events.Warning{Code: "b"}}}
		if after == 0 {
			envs[0].Data = events.WorkflowStarted{Message: "from a child"}
		}
		if err := log.Append(ctx, key, epoch, after, envs); err != nil {
			return err
		}
		fmt.Println("acknowledged", after+2)
	}
}

// childPost posts to the shared thread.
func childPost(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	for n := range posts {
		_, err := log.Post(ctx, sharedKey, events.Envelope{Run: "r", Data: events.UserMessage{Content: fmt.Sprintf("%d/%d", os.Getpid(), n)}})
		if err != nil {
			return err
		}
	}
	return log.Close()
}

// childRemove takes the shared thread away.
func childRemove(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if err := log.Remove(ctx, sharedKey); err != nil {
		return err
	}
	return log.Close()
}

// childHold claims the shared thread, again for each line of its input, and waits for
// its end.
func childHold(ctx context.Context, path string) error {
	log, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if _, err := log.Claim(ctx, sharedKey, "holder", false); err != nil {
		return err
	}
	fmt.Println("held")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if _, err := log.Claim(ctx, sharedKey, "holder", false); err != nil {
			return err
		}
		fmt.Println("held again")
	}
	return nil
}

const posts = 40

// child is a second process.
type child struct {
	*testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	// stdin stays open while we live, so that no child outlives the test.
	stdin io.WriteCloser
}

func startChild(t *testing.T, role, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role+":"+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{T: t, cmd: cmd, lines: bufio.NewScanner(out), stdin: in}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return c
}

// line gives the rest of the next line, which must start with word.
func (c *child) line(word string) string {
	c.Helper()
	require.True(c, c.lines.Scan(), "the child has ended")
	rest, ok := strings.CutPrefix(c.lines.Text(), word)
	require.True(c, ok, c.lines.Text())
	return strings.TrimSpace(rest)
}

func (c *child) kill() {
	c.Helper()
	require.NoError(c, c.cmd.Process.Kill())
	_ = c.cmd.Wait()
}

func (c *child) ends() {
	c.Helper()
	for c.lines.Scan() {
		require.NotContains(c, c.lines.Text(), "error")
	}
	require.NoError(c, c.cmd.Wait())
}

// Several processes make and migrate the same fresh file at once.
func TestOpenRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "convene.db")
	var racers []*child
	for range 4 {
		racers = append(racers, startChild(t, "open", path))
	}
	for _, racer := range racers {
		racer.ends()
	}
	require.NoError(t, open(t, path).Close())
}

// Proves R73: what was acknowledged to a process that was then killed is there,
// nothing else is torn, and its thread can be claimed at once.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	watcher := open(t, path)
	defer func() { require.NoError(t, watcher.Close()) }()
	for round := range 8 {
		c := startChild(t, "append", path)
		key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(c.line("thread"))}
		acknowledged := 0
		note := func(number string) {
			n, err := strconv.Atoi(number)
			require.NoError(t, err)
			acknowledged = n
		}
		for range 3 + 5*round {
			note(c.line("acknowledged"))
		}
		_, err := watcher.Claim(t.Context(), key, "impatient", false)
		var held *events.HeldError
		require.ErrorAs(t, err, &held, "while it lives")
		require.Equal(t, events.Owner("child"), held.Owner)

		require.NoError(t, c.cmd.Process.Kill())
		for c.lines.Scan() {
			if number, whole := strings.CutPrefix(c.lines.Text(), "acknowledged "); whole {
				note(number)
			}
		}
		_ = c.cmd.Wait()

		log := watcher
		if round%2 == 0 {
			log = open(t, path)
		}
		envs, err := log.Read(t.Context(), key, 0, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(envs), acknowledged)
		require.LessOrEqual(t, len(envs), acknowledged+2, "at most the append under way")
		require.Zero(t, len(envs)%2, "no append is there by half")
		var summary events.RunSummary
		for i, env := range envs {
			require.Equal(t, events.Seq(i+1), env.Seq)
			require.NoError(t, summary.Apply(env))
		}
		runs, err := log.Runs(t.Context(), events.RunQuery{Thread: key.Thread})
		require.NoError(t, err)
		require.Equal(t, []events.RunSummary{summary}, runs)

		holder, _, err := log.Holder(t.Context(), key)
		require.NoError(t, err)
		require.Empty(t, holder)
		epoch, err := log.Claim(t.Context(), key, "heir", false)
		require.NoError(t, err, "a dead owner holds nothing")
		last := events.Seq(len(envs))
		require.NoError(t, log.Append(t.Context(), key, epoch, last, []events.Envelope{{Run: "r", Data: events.RunResumed{Owner: "heir"}}}))
		if log != watcher {
			require.NoError(t, log.Close())
		}
	}
}

// Two processes want the same thread: one has it, the other is told who.
func TestHeldByProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	c := startChild(t, "hold", path)
	c.line("held")
	_, err := log.Claim(t.Context(), sharedKey, "second", false)
	require.ErrorIs(t, err, events.ErrHeld)
	require.ErrorContains(t, err, "holder")
	owner, _, err := log.Holder(t.Context(), sharedKey)
	require.NoError(t, err)
	require.Equal(t, events.Owner("holder"), owner)
	_, err = log.Claim(t.Context(), sharedKey, "second", true)
	require.NoError(t, err, "taking over is possible")
	c.kill()
}

// Other processes post while this one appends: nothing is lost or doubled, a
// conflict is answered by reading, and who follows sees all of it.
func TestPostsFromProcesses(t *testing.T) {
	const posters, appends = 2, 60
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	epoch, err := log.Claim(ctx, sharedKey, "driver", false)
	require.NoError(t, err)
	last := events.Seq(0)
	add := func(fact events.Event) {
		for {
			err := log.Append(ctx, sharedKey, epoch, last, []events.Envelope{{Run: "r", Data: fact}})
			if err == nil {
				last++
				return
			}
			require.True(t, errors.Is(err, events.ErrConflict), "%v", err)
			envs, err := log.Read(ctx, sharedKey, last, 0)
			require.NoError(t, err)
			require.NotEmpty(t, envs, "a conflict has a reason")
			last = envs[len(envs)-1].Seq
		}
	}
	add(events.WorkflowStarted{})
	var others []*child
	for range posters {
		others = append(others, startChild(t, "post", path))
	}
	for n := range appends {
		add(events.Warning{Code: strconv.Itoa(n)})
	}
	var messages, warnings []string
	for env, err := range events.Follow(ctx, log, sharedKey, 0) {
		require.NoError(t, err)
		switch e := env.Data.(type) {
		case events.UserMessage:
			messages = append(messages, e.Content)
		case events.Warning:
			warnings = append(warnings, e.Code)
		}
		if len(messages)+len(warnings) == posters*posts+appends {
			break
		}
	}
	for _, other := range others {
		other.ends()
	}
	require.Len(t, warnings, appends)
	unique := map[string]bool{}
	for _, message := range messages {
		unique[message] = true
	}
	require.Len(t, unique, posters*posts)
}

// What another process adds to a thread wakes those who wait for that one alone; a thread
// that it removes ends their wait.
func TestOthersWakeWhoWaitsForThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log := open(t, path)
	defer func() { require.NoError(t, log.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	quietKey := events.ThreadKey{Tenant: events.LocalTenant, Thread: "quiet"}
	epochs := map[events.ThreadKey]events.Epoch{}
	for _, key := range []events.ThreadKey{sharedKey, quietKey} {
		epoch, err := log.Claim(ctx, key, "driver", false)
		require.NoError(t, err)
		require.NoError(t, log.Append(ctx, key, epoch, 0, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{}}}))
		epochs[key] = epoch
	}
	quiet, stop := log.Watch(quietKey)
	defer stop()

	c := startChild(t, "post", path)
	require.NoError(t, log.Wait(ctx, sharedKey, posts, events.KindUserMessage))
	c.ends()
	tip, err := log.Last(ctx, sharedKey)
	require.NoError(t, err)
	require.NoError(t, log.Append(ctx, sharedKey, epochs[sharedKey], tip.Seq,
		[]events.Envelope{{Run: "r", Data: events.WorkflowFinished{Status: events.StatusCompleted}}}))
	select {
	case <-quiet:
		require.Fail(t, "woken for another thread's events")
	default:
	}

	require.NoError(t, log.Release(ctx, sharedKey, epochs[sharedKey]))
	waiting := make(chan error, 1)
	go func() { waiting <- log.Wait(ctx, sharedKey, tip.Seq+1, events.KindUserMessage) }()
	c = startChild(t, "remove", path)
	require.ErrorIs(t, <-waiting, events.ErrNotFound)
	c.ends()
}
