package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/team"
)

const (
	// grace is how long a process has to end after its input was closed, and again after
	// it was asked to terminate.
	grace = 2 * time.Second
	// writeTimeout bounds one write: a process that reads nothing for so long hangs.
	writeTimeout = 30 * time.Second
	// maxMessageBytes bounds one message of a server, and with it what one result takes in
	// memory.
	maxMessageBytes = 128 << 20
	// tailBytes is how much of a server's standard error is kept, to say why it ended.
	tailBytes = 2048
)

// process is a server that was started as a command. Its children belong to its group, and
// end with it.
type process struct {
	command       *exec.Cmd
	stdin, stdout *os.File
	stderr        *tail
	guard         *guard
	// done is closed when the command has ended and was reaped; then err says how.
	done chan struct{}
	err  error
	once sync.Once
}

// startProcess starts the command with the environment that its settings declare.
func startProcess(config team.MCPServer, dir string, lookup func(string) (string, bool)) (*process, error) {
	environment, err := environmentOf(config.Env, lookup)
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.CommandContext(context.Background(), config.Command, config.Args...), done: make(chan struct{})}
	p.command.Dir, p.command.Env = dir, environment
	ownGroup(p.command)
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("the command %s could not be started: %w", config.Command, startError(err))
	}
	p.guard = guardGroup(p.command.Process.Pid)
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	return p, nil
}

// start makes the pipes and starts the command. The child's ends are closed here.
func (p *process) start() error {
	var files []*os.File
	pipe := func() (read, write *os.File) {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, nil
		}
		files = append(files, read, write)
		return read, write
	}
	inRead, inWrite := pipe()
	outRead, outWrite := pipe()
	errRead, errWrite := pipe()
	if len(files) != 6 {
		closeAll(files)
		return errors.New("no pipes are left; end other programs")
	}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = inRead, outWrite, errWrite
	if err := p.command.Start(); err != nil {
		closeAll(files)
		return err
	}
	closeAll([]*os.File{inRead, outWrite, errWrite})
	p.stdin, p.stdout, p.stderr = inWrite, outRead, newTail(errRead)
	return nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // nothing was written
	}
}

// startError says what to do about a command that does not start.
func startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("it is not found; install it, or write its path")
	}
	return err
}

// inherited are the variables that a command gets of ours: what programs need to find
// others and to keep their files. Nothing else gets in without being declared.
func inherited() []string {
	if runtime.GOOS == "windows" {
		return []string{"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE"}
	}
	return []string{"HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "USER"}
}

// environmentOf gives the environment of a command: the inherited variables and the
// declared ones.
func environmentOf(declared map[string]string, lookup func(string) (string, bool)) ([]string, error) {
	environment := []string{}
	for _, name := range inherited() {
		if value, ok := os.LookupEnv(name); ok {
			environment = append(environment, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		value, err := team.Expand(declared[name], lookup)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		environment = append(environment, name+"="+value)
	}
	return environment, nil
}

func (p *process) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.stdout, Writer: patient{p.stdin}, MaxLineLength: maxMessageBytes}
}

// patient writes to a pipe whose reader may hang.
type patient struct{ *os.File }

func (w patient) Write(text []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	return w.File.Write(text)
}

func (p *process) ended() <-chan struct{} { return p.done }

// lastWords says how the process ended, as far as it has, and what it wrote last.
func (p *process) lastWords() string {
	var b strings.Builder
	select {
	case <-p.done:
		if p.err != nil {
			fmt.Fprintf(&b, " (%v)", p.err)
		}
	default:
	}
	if text := strings.TrimSpace(p.stderr.String()); text != "" {
		fmt.Fprintf(&b, ". It last said: %s", text)
	}
	return b.String()
}

// close ends the process as the protocol says: it closes its input, then asks it to
// terminate, then kills it. What is left of its group is killed.
func (p *process) close() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.within(grace) {
			signalGroup(p.command, false)
			_ = p.within(grace)
		}
		signalGroup(p.command, true)
		<-p.done
		p.guard.dismiss()
		_ = p.stdout.Close()
		p.stderr.close()
	})
}

func (p *process) within(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// tail keeps the end of what is read from a pipe.
type tail struct {
	from *os.File
	done chan struct{}
	mu   sync.Mutex // guards text
	text []byte
}

func newTail(from *os.File) *tail {
	t := &tail{from: from, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		buffer := make([]byte, tailBytes)
		for {
			n, err := from.Read(buffer)
			t.keep(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	return t
}

func (t *tail) keep(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}

// close ends the reading, once all is read that the process wrote before it ended: the pipe may
// still hold its last words. A child that left the group may keep the pipe open; it is not
// waited for.
func (t *tail) close() {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
	}
	_ = t.from.Close()
	<-t.done
}
