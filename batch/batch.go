package batch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// DefaultConcurrency is how many rows run at once where nobody said: enough to keep
// most endpoints busy, few enough that a laptop's model server does not fall over.
const DefaultConcurrency = 16

// MaxConcurrency bounds the rows that run at once: each is a few goroutines and
// connections.
const MaxConcurrency = 10_000

// Config is what a [Batch] works with. Runner and Team are required.
type Config struct {
	Runner *runner.Runner
	// Team is asked by rows that name none. It must not change.
	Team *team.Team
	// Teams finds the teams that rows name. Defaults to [team.Resolve]: a built-in
	// team or a file.
	Teams func(name string) (*team.Team, error)
	// By is who runs the batch, and from where, for the log. Defaults to nobody.
	By *events.Actor
	// Functions are specialists of Team that are Go functions. Rows that name a team have
	// models alone.
	Functions runner.Functions
	// Model, if set, is asked instead of every model of the teams.
	Model string
	// Solo has a single agent answer each row, without specialists.
	Solo bool
	// Tenant defaults to [events.LocalTenant].
	Tenant events.TenantID
	// FilesRoot is the folder below which the files and folders of rows lie. What leads out of
	// it is refused, links as well. Defaults to none: rows that name files or a folder are bad.
	FilesRoot string
	// Extract gives a file of a row with its media type and its text, as [runner.Job.Files]
	// describes them; it must be safe for concurrent use, and its context ends with the batch.
	// Defaults to the file as it is.
	Extract func(ctx context.Context, name string, data []byte) agent.File
	// Concurrency is how many rows run at once; those that wait for an endpoint do not
	// count. Defaults to [DefaultConcurrency].
	Concurrency int
	// MaxFailures stops the batch when too many rows failed. Defaults to no bound.
	MaxFailures MaxFailures
	// MaxCostUSD and MaxTokens bound the whole batch, earlier calls of it included. At
	// the bound runs under way wrap up and no row is started. Default to no bound.
	MaxCostUSD float64
	MaxTokens  int64
	// RowTimeout takes the place of the teams' max_time. Defaults to theirs.
	RowTimeout time.Duration
	// Timeout stops the batch, to be resumed. Defaults to none.
	Timeout time.Duration
	// OnInput says what becomes of a row whose run asks a person for something. Defaults to
	// [runner.ParkOnInput]: the row has no output until somebody has answered in its thread
	// and the batch is run again.
	OnInput runner.OnInput
	// Approve says who decides on calls of tools that wait for approval. Defaults to
	// [runner.DenyAll]: the rows go on without them.
	Approve runner.Approve
	// MaxWait is how long a row waits for an endpoint that cannot be used, before its run is
	// parked; no other row of that endpoint is then begun. Defaults to [runner.Forever].
	MaxWait time.Duration
	// Limiters gives the state of the endpoints' limiters, with their endpoints. While
	// calls wait there no row is started. Defaults to starting rows as fast as
	// Concurrency allows.
	Limiters func() []llm.LimiterState
	// Total is the number of rows, 0 where nobody knows. It is for progress alone.
	Total int
	// Input and Output tell those who watch where rows come from and outputs go. [Open]
	// sets them; default to nothing.
	Input, Output string
	// Command gives the command line that continues the batch in the process's working
	// folder, for those who watch; it is asked once, when the batch is taken up. Defaults
	// to none.
	Command func() string
	// Store names the store of the Runner's log, such as by its path. A batch into a file
	// remembers it and refuses to go on in another, which knows nothing of its runs.
	// Defaults to no such check.
	Store string
	// Identity names the batch. Defaults to a new one.
	Identity Identity
	// Resumed is set when rows of this identity may have been started before: the log
	// is then asked first what became of them.
	Resumed bool
}

// Batch is a batch under way. [Batch.Run] may be called once; the other methods
// are safe for concurrent use.
type Batch struct {
	config Config
	budget *runner.LocalBudget
	teams  *teams
	// crew are the agents of the standard team, with their models.
	crew runner.Crew
	// journal is set from the claim of the batch's thread on.
	journal *journal
	// extracting has a place for each row whose files are being read; nil without a root.
	extracting chan struct{}
	// attempt counts the retries of failed rows.
	attempt int

	// asking counts the rows that wait for a person.
	asking atomic.Int64

	mu       sync.Mutex // guards what follows
	begun    time.Time
	tally    *tally
	admitted int // rows that were started, or found bad, in this process
	ended    int // rows of them that ended or were parked
	handed   int // rows of them whose output was handed over to be written
	written  int // rows of them that have an output
	active   map[*Row]*active
	away     away
	// unfinished is what rows without an output have used so far, by index: as many as
	// were under way at once when the batch was stopped.
	unfinished map[int]spent
	stop       *StopReason
	stopped    chan struct{} // closed once stop is set
	parking    parking
	// rest is closed when Run returns, nil before it was called.
	rest chan struct{}
}

// parking is what becomes of runs that are under way, or just starting, in a batch
// that was stopped.
type parking int

const (
	runOn   parking = iota
	suspend         // after the calls under way
	halt            // at once
)

// active is a row under way.
type active struct {
	row   *Row
	since time.Time
	run   *runner.Run
}

var errIncomplete = errors.New("new batch: Runner and Team are required")

// New checks the configuration: that the team is sound and its models can be
// asked, and that the bounds can be kept.
func New(config Config) (*Batch, error) {
	if config.Runner == nil || config.Team == nil {
		return nil, errIncomplete
	}
	if config.Teams == nil {
		config.Teams = team.Resolve
	}
	if config.Concurrency == 0 {
		config.Concurrency = DefaultConcurrency
	}
	if config.MaxWait == 0 {
		config.MaxWait = runner.Forever
	}
	config.Tenant = config.Tenant.OrLocal()
	if config.Concurrency < 1 || config.Concurrency > MaxConcurrency {
		return nil, fmt.Errorf("concurrency %d is not between 1 and %d", config.Concurrency, MaxConcurrency)
	}
	if config.MaxCostUSD < 0 || config.MaxTokens < 0 || config.RowTimeout < 0 || config.Timeout < 0 {
		return nil, errors.New("a limit of the batch is negative")
	}
	if config.Identity.ID == "" {
		config.Identity = NewIdentity()
	}
	b := &Batch{
		config: config, tally: newTally(), active: map[*Row]*active{}, unfinished: map[int]spent{}, stopped: make(chan struct{}),
		budget: runner.NewBudget(runner.BudgetLimits{MaxTokens: config.MaxTokens, MaxCostUSD: config.MaxCostUSD}),
		teams:  newTeams(config),
	}
	if err := b.openRoot(); err != nil {
		return nil, err
	}
	job, err := b.job(&Row{Request: "check", Vars: placeholders(config.Team), Folder: b.anyFolder()})
	if err == nil {
		b.crew, err = config.Runner.Check(job)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// placeholders gives every placeholder of the request template some value.
func placeholders(t *team.Team) map[string]string {
	vars := map[string]string{}
	for _, name := range t.Vars() {
		vars[name] = name
	}
	return vars
}

// Run runs the rows and hands every output to the sink, in the order in which the
// rows end. A row that comes with a [*RowError] becomes a failed output; any other
// error ends the batch.
//
// Run returns when every row has an output, or the batch was stopped and its runs
// have come to rest: the report says which. When ctx ends, calls under way are
// given up, the runs are left to be resumed, and the rows must end too. The error
// is that of rows, of the sink or of the store; an [*events.HeldError] where a batch
// of the same identity is under way.
func (b *Batch) Run(ctx context.Context, rows iter.Seq2[Row, error], sink Sink) (Report, error) {
	defer b.running()()
	if err := b.claim(ctx); err != nil {
		return b.Report(), err
	}
	defer b.release()
	report, err := b.work(ctx, placed(rows), sink)
	return report, b.journal.end(ctx, report, err)
}

// work runs the rows. The batch's thread is claimed.
func (b *Batch) work(ctx context.Context, rows iter.Seq2[Row, error], sink Sink) (Report, error) {
	if err := b.journal.begin(ctx); err != nil {
		return b.Report(), err
	}
	b.mu.Lock()
	b.begun = time.Now()
	b.mu.Unlock()
	if b.config.Timeout > 0 {
		timer := time.AfterFunc(b.config.Timeout, func() {
			b.suspend(StopReason{Kind: StopTimeout, Message: fmt.Sprintf("the batch has run for %s", b.config.Timeout)})
		})
		defer timer.Stop()
	}
	defer context.AfterFunc(ctx, func() { b.halt(StopReason{Kind: StopInterrupted, Message: context.Cause(ctx).Error()}) })()

	defer b.heedRequests(ctx)()

	w := &workers{batch: b, sink: sink, slots: make(chan struct{}, b.config.Concurrency), threads: newThreads(), outputs: make(chan Output)}
	var writing, telling sync.WaitGroup
	ended := make(chan struct{})
	writing.Go(w.write)
	telling.Go(func() { w.tell(ctx, ended) })
	err := w.admit(ctx, rows)
	w.working.Wait()
	b.parkForGood()
	close(w.outputs)
	writing.Wait()
	close(ended)
	telling.Wait()
	report := b.Report()
	report.Suspended = w.suspended
	if n := b.asking.Load(); n > 0 && report.Stop == nil {
		report.Stop = &StopReason{Kind: StopInput, Message: fmt.Sprintf(
			"%d of the rows left ask a person for something: answer in their threads, or decide with --on-input, then run the batch again", n)}
	}
	return report, errors.Join(err, w.broken)
}

// ID names the batch; it is the id of the thread that has the batch's own events.
func (b *Batch) ID() events.BatchID { return events.BatchID(b.config.Identity.ID) }

// Key addresses that thread.
func (b *Batch) Key() events.ThreadKey { return b.config.Identity.key(b.config.Tenant) }

// leaveUnfinished counts what a row has used that has no output yet.
func (b *Batch) leaveUnfinished(row *Row, used spent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unfinished[row.Index] = used
}

// Report gives what the batch came to so far.
func (b *Batch) Report() Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	report := b.tally.sum(b.config.Total)
	for _, row := range b.unfinished {
		report.spend(row.usage, row.costUSD, row.calls)
	}
	report.Stop = b.stop
	if !b.begun.IsZero() {
		report.Elapsed = time.Since(b.begun)
	}
	return report
}

// Suspend starts no more rows, lets the model calls under way end, and parks their
// runs, to be resumed. It does not wait.
func (b *Batch) Suspend() { b.suspend(StopReason{Kind: StopInterrupted, Message: "interrupted"}) }

// Halt starts no more rows and parks the runs under way at once: their calls are
// given up. It does not wait.
func (b *Batch) Halt() { b.halt(StopReason{Kind: StopInterrupted, Message: "interrupted"}) }

// Stop starts no more rows, parks the runs under way, to be resumed, and returns when Run
// has: model calls under way end first, unless ctx does, which gives them up. Twice is
// fine, and before Run it does nothing but keep that from starting rows.
func (b *Batch) Stop(ctx context.Context) {
	b.Suspend()
	defer context.AfterFunc(ctx, b.Halt)()
	b.mu.Lock()
	rest := b.rest
	b.mu.Unlock()
	if rest != nil {
		<-rest
	}
}

// running notes that Run was called; the returned function, that it returns.
func (b *Batch) running() (ended func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := make(chan struct{})
	b.rest = rest
	return func() { close(rest) }
}

// drain starts no more rows; those under way come to their end.
func (b *Batch) drain(why StopReason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop == nil {
		b.stop = &why
		close(b.stopped)
	}
}

func (b *Batch) isStopped() bool {
	select {
	case <-b.stopped:
		return true
	default:
		return false
	}
}

func (b *Batch) suspend(why StopReason) { b.park(why, suspend) }

func (b *Batch) halt(why StopReason) { b.park(why, halt) }

func (b *Batch) park(why StopReason, how parking) {
	b.drain(why)
	b.mu.Lock()
	b.parking = max(b.parking, how)
	how = b.parking
	runs := make([]*runner.Run, 0, len(b.active))
	for _, a := range b.active {
		runs = append(runs, a.run)
	}
	b.mu.Unlock()
	for _, run := range runs {
		how.apply(run)
	}
}

func (p parking) apply(run *runner.Run) {
	switch p {
	case suspend:
		run.Suspend()
	case halt:
		run.Halt()
	}
}
