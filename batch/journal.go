package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

const (
	// progressInterval is how often a batch under way writes down where it stands: often
	// enough that one who watches from elsewhere sees it move. A batch that goes on for
	// long moves slowly, so the interval grows with its time, up to maxInterval: a page
	// that shows it reads what was written, and a day of it is some 10,000 events.
	progressInterval = 2 * time.Second
	maxInterval      = 10 * time.Second
	// intervalShare is the part of the time so far that an interval may take.
	intervalShare = 300
	// maxNamed bounds the rejected rows that one call of a batch names: somebody looks at
	// the first of them. All are counted among the causes, and the output has them all.
	maxNamed = 1000
	// maxConflicts bounds the attempts to append behind what others post to the thread:
	// hardly anybody does.
	maxConflicts = 100
	// messageChars bounds the message of a rejected row.
	messageChars = 2000
)

// journal writes the thread of the batch itself, which shows it to others: while it
// runs, in other processes, and later.
type journal struct {
	batch *Batch
	key   events.ThreadKey
	epoch events.Epoch

	// What follows belongs to one goroutine at a time: to who runs the batch, and between
	// begin and end to [workers.tell].

	last events.Seq
	// said is what the last progress said, times apart.
	said []byte
	// broken is set once an append has failed: nothing is written behind a gap.
	broken bool

	mu sync.Mutex // guards what follows
	// rejected wait to be written.
	rejected []events.Event
	named    int
}

// claim takes the thread of the batch, which keeps others from the same batch. Once it
// has, it does nothing.
func (b *Batch) claim(ctx context.Context) error {
	if b.journal != nil {
		return nil
	}
	key := b.Key()
	epoch, err := b.config.Runner.Claim(ctx, key)
	if err != nil {
		return fmt.Errorf("claim batch %s: %w", key.Thread, err)
	}
	b.journal = &journal{batch: b, key: key, epoch: epoch}
	return nil
}

// release gives the thread back, if it was claimed.
func (b *Batch) release() {
	if b.journal != nil {
		b.config.Runner.Release(b.journal.key, b.journal.epoch)
	}
}

// before finds how far earlier calls of the batch came; the zero value without one.
func (j *journal) before(ctx context.Context) (events.BatchSummary, error) {
	before, err := j.batch.config.Runner.Log().FindBatch(ctx, j.key.Tenant, string(j.key.Thread))
	if errors.Is(err, events.ErrNotFound) {
		return events.BatchSummary{}, nil
	}
	j.last = before.LastSeq
	return before, err
}

// abandon records that nobody will continue the batch, although it could be.
func (j *journal) abandon(ctx context.Context) error {
	before, err := j.before(ctx)
	switch {
	case err != nil:
		return err
	case before.Batch == "", before.Status == events.StatusCompleted, before.Status == events.StatusDegraded:
		return nil
	case before.Status == events.StatusFailed && before.Rows > 0 && before.Done == before.Rows: // every row failed, none is left
		return nil
	}
	figures, left := before.BatchFigures, -1
	figures.Running, figures.Slowest, figures.Limiters, figures.Outages, figures.Held = 0, nil, nil, nil, 0
	if before.Rows > 0 {
		left = before.Rows - before.Done
	}
	return j.append(ctx, events.BatchEnded{
		BatchFigures: figures, Status: events.StatusCancelled, Reason: "started over: its output was removed", Left: left,
	})
}

// begin writes that the batch was taken up.
func (j *journal) begin(ctx context.Context) error {
	c, r := &j.batch.config, j.batch.config.Runner
	if _, err := j.before(ctx); err != nil {
		return err
	}
	command, folder := c.command()
	return j.append(ctx, events.BatchStarted{
		Input: c.Input, Output: c.Output, Command: command, Folder: folder, Team: c.Team.Name, Models: j.batch.models(), Solo: c.Solo,
		Simulated: j.batch.crew.Simulated, Rows: c.Total, Concurrency: c.Concurrency,
		MaxCostUSD: c.MaxCostUSD, MaxTokens: c.MaxTokens, MaxFailures: c.MaxFailures.String(),
		Resumed: c.Resumed, Attempt: j.batch.attempt, Owner: r.Owner(), BinaryVersion: r.Version(),
	})
}

// command gives the command line that continues the batch, and where it is run.
func (c *Config) command() (command, folder string) {
	if c.Command == nil {
		return "", ""
	}
	if command = c.Command(); command == "" {
		return "", ""
	}
	folder, _ = os.Getwd() // without it the command is still worth showing
	return command, folder
}

// models are what the agents of the standard team call, each once.
func (b *Batch) models() []string {
	models := []string{}
	for _, a := range b.crew.Agents {
		for _, model := range a.Models {
			if !slices.Contains(models, model) {
				models = append(models, model)
			}
		}
	}
	return models
}

// reject notes a row that never had a run.
func (j *journal) reject(bad *RowError) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.named == maxNamed {
		return
	}
	j.named++
	j.rejected = append(j.rejected, events.BatchRowRejected{
		Row: bad.ID, Index: bad.Index, Line: bad.Line, Code: bad.Kind, Message: chars.Clip(bad.Message, messageChars),
	})
}

// interval is the time to the next progress of a batch that has been under way for so
// long.
func interval(elapsed time.Duration) time.Duration {
	return min(max(elapsed/intervalShare, progressInterval), maxInterval)
}

// progress writes where the batch stands, if anything but the time has changed.
func (j *journal) progress(ctx context.Context) error {
	p := j.batch.Progress()
	fact := events.BatchProgress{BatchFigures: p.BatchFigures}
	if p.Stop != nil {
		fact.Stopping = p.Stop.Message
	}
	facts := j.takeRejected()
	now, err := timeless(fact)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, j.said) {
		facts = append(facts, fact)
	}
	j.said = now
	return j.append(ctx, facts...)
}

func (j *journal) takeRejected() []events.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	rejected := j.rejected
	j.rejected = nil
	return rejected
}

// timeless gives what a progress says apart from how time passes.
func timeless(p events.BatchProgress) ([]byte, error) {
	p.ElapsedMS, p.RowsPerSecond, p.LeftMS = 0, 0, 0
	p.Slowest, p.Limiters, p.Outages = slices.Clone(p.Slowest), slices.Clone(p.Limiters), slices.Clone(p.Outages)
	for i := range p.Outages {
		p.Outages[i].AwayMS = 0
	}
	for i := range p.Slowest {
		p.Slowest[i].ElapsedMS = 0
	}
	for i := range p.Limiters {
		p.Limiters[i].HeldBackMS = 0
	}
	return json.Marshal(p)
}

// end writes how this call of the batch ended, and gives its error: that of the work,
// else that of writing.
func (j *journal) end(ctx context.Context, report Report, worked error) error {
	if j.broken {
		return worked
	}
	ended := events.BatchEnded{BatchFigures: j.batch.Progress().BatchFigures, Left: report.Left}
	if worked == nil && report.Stop == nil && report.Suspended == 0 {
		ended.Left = 0 // where nobody knew the number of rows, it is known now
	}
	ended.Status, ended.Reason = outcome(report, ended.Left, worked)
	err := j.append(ctx, append(j.takeRejected(), ended)...)
	if worked != nil {
		return worked
	}
	return err
}

// outcome says how a batch ended with so many rows left, and why they are.
func outcome(report Report, left int, worked error) (events.Status, string) {
	switch {
	case worked != nil:
		return events.StatusFailed, chars.Clip(worked.Error(), messageChars)
	case left != 0 && report.Stop == nil:
		return events.StatusSuspended, "other processes work on the rows that are left"
	case left != 0:
		switch report.Stop.Kind {
		case StopFailures, StopBroken:
			return events.StatusFailed, chars.Clip(report.Stop.Message, messageChars)
		}
		return events.StatusSuspended, chars.Clip(report.Stop.Message, messageChars)
	case report.Failed > 0 && report.Failed == report.Rows:
		return events.StatusFailed, ""
	case report.Failed+report.Degraded > 0:
		return events.StatusDegraded, ""
	}
	return events.StatusCompleted, ""
}

// heedRequests stops the batch once somebody has asked in its thread that it be stopped,
// until the returned function is called. What was asked of an earlier call is over.
func (b *Batch) heedRequests(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	log, key, after := b.config.Runner.Log(), b.journal.key, b.journal.last
	var heeding sync.WaitGroup
	heeding.Go(func() {
		if log.Wait(ctx, key, after, events.KindCancelRequested) != nil {
			return // the batch ends, or its store does not work, which it finds out itself
		}
		reason := "stopped on request"
		if asked, err := log.Read(ctx, key, after, 1, events.KindCancelRequested); err == nil && len(asked) == 1 {
			if said := asked[0].Data.(events.CancelRequested).Reason; said != "" {
				reason = chars.Clip(said, messageChars)
			}
		}
		b.suspend(StopReason{Kind: StopInterrupted, Message: reason})
	})
	return func() {
		cancel()
		heeding.Wait()
	}
}

// append writes behind what is there, though ctx may have ended: what happened is to
// be known.
func (j *journal) append(ctx context.Context, facts ...events.Event) error {
	if len(facts) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	log, envs := j.batch.config.Runner.Log(), make([]events.Envelope, len(facts))
	for i, fact := range facts {
		envs[i].Data = fact
		if _, begins := fact.(events.BatchStarted); begins {
			envs[i].By = j.batch.config.By
		}
	}
	err := log.Append(ctx, j.key, j.epoch, j.last, envs)
	for attempt := 0; errors.Is(err, events.ErrConflict) && attempt < maxConflicts; attempt++ {
		posted, failed := log.Read(ctx, j.key, j.last, 0)
		if failed != nil || len(posted) == 0 {
			err = errors.Join(failed, err)
			break
		}
		j.last = posted[len(posted)-1].Seq
		err = log.Append(ctx, j.key, j.epoch, j.last, envs)
	}
	if err != nil {
		j.broken = true
		return fmt.Errorf("append to the journal of batch %s: %w", j.key.Thread, err)
	}
	j.last += events.Seq(len(facts))
	return nil
}
