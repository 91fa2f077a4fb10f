package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/convene-run/convene/events"
)

// Log is what a sender needs of an [events.Log].
type Log interface {
	events.Tailer
	events.Bookmarks
	Claim(ctx context.Context, key events.ThreadKey, owner events.Owner, takeOver bool) (events.Epoch, error)
	Release(ctx context.Context, key events.ThreadKey, epoch events.Epoch) error
}

// Config is what a [Sender] works with. Log is required.
type Config struct {
	Log       Log
	Receivers []Receiver
	// Owner is shown to other processes while this one sends. Of several processes with one
	// log one sends to a receiver, and another takes over when that has ended. Defaults to
	// "webhooks".
	Owner events.Owner
	// Logger gets a line when a receiver cannot be reached, once an hour while that lasts, and
	// when it is back. None holds a secret or the path of a URL. Defaults to none.
	Logger *zerolog.Logger
}

// Sender sends events to receivers. It is safe for concurrent use.
type Sender struct {
	log       Log
	owner     events.Owner
	receivers []*receiver
	metrics   *metrics

	cancel  context.CancelFunc // nil before Start
	sending sync.WaitGroup
}

// MaxReceivers bounds the receivers of one sender: each reads the log for itself.
const MaxReceivers = 32

// New gives a sender. It refuses receivers that cannot be: see [Receiver.Check].
func New(config Config) (*Sender, error) {
	if config.Log == nil {
		return nil, errors.New("new webhook sender: Log is required")
	}
	if len(config.Receivers) > MaxReceivers {
		return nil, fmt.Errorf("there are %d webhooks, at most %d are allowed", len(config.Receivers), MaxReceivers)
	}
	if config.Owner == "" {
		config.Owner = "webhooks"
	}
	if config.Logger == nil {
		nop := zerolog.Nop()
		config.Logger = &nop
	}
	s := &Sender{log: config.Log, owner: config.Owner, metrics: newMetrics()}
	known := map[string]bool{}
	for _, r := range config.Receivers {
		if known[r.URL] {
			return nil, fmt.Errorf("webhook to %s: another has the same URL", r.host())
		}
		known[r.URL] = true
		own, err := newReceiver(r, s.metrics, config.Logger)
		if err != nil {
			return nil, fmt.Errorf("webhook to %s: %w", r.host(), err)
		}
		s.receivers = append(s.receivers, own)
	}
	return s, nil
}

// Start makes the bookmarks of new receivers, so that they get what happens from then on, and
// sends in the background until ctx ends or Stop is called. The error is of the log; nothing
// is sent then. Call it once.
func (s *Sender) Start(ctx context.Context) error {
	for _, r := range s.receivers {
		if _, err := s.log.Bookmark(ctx, r.bookmark()); err != nil {
			return fmt.Errorf("webhook to %s: %w", r.host(), err)
		}
	}
	ctx, s.cancel = context.WithCancel(ctx)
	for _, r := range s.receivers {
		s.sending.Go(func() { s.serve(ctx, r) })
	}
	return nil
}

// Stop ends the sending and returns when nothing is being sent any more. Twice is fine, and
// so is without Start.
func (s *Sender) Stop() {
	if s.cancel != nil {
		s.cancel()
	}
	s.sending.Wait()
}

// serve sends to one receiver. A failing log is tried again.
func (s *Sender) serve(ctx context.Context, r *receiver) {
	defer r.client.CloseIdleConnections()
	told := ""
	for ctx.Err() == nil {
		err := s.follow(ctx, r)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errGone), errors.Is(err, events.ErrClosed), errors.Is(err, events.ErrCursor):
			r.logger.Error().Err(err).Msg("webhook: nothing more is sent until this process is started again")
			return
		case !errors.Is(err, events.ErrHeld) && err.Error() != told: // held: another process sends
			told = err.Error()
			r.logger.Error().Err(err).Msg("webhook: the log cannot be followed; trying again")
		}
		_ = pause(ctx, logWait)
	}
}

// follow sends what the log has behind the receiver's bookmark, and what is added to it,
// while no other process does so.
func (s *Sender) follow(ctx context.Context, r *receiver) (err error) {
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: leaseID(r.bookmark())}
	epoch, err := s.log.Claim(ctx, key, s.owner, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.log.Release(context.WithoutCancel(ctx), key, epoch)) }()
	cursor, err := s.log.Bookmark(ctx, r.bookmark())
	if err != nil {
		return err
	}
	for item, err := range s.log.Tail(ctx, events.TailFilter{Kinds: r.Kinds}, cursor) {
		if damaged := (*events.DamagedError)(nil); errors.As(err, &damaged) {
			return errors.Join(err, s.log.SetBookmark(ctx, r.bookmark(), item.Cursor)) // what is behind it can be sent
		}
		if err != nil {
			return err
		}
		if !r.wants(item.Envelope.Tenant) {
			continue
		}
		if err := r.deliver(ctx, item.Envelope); err != nil {
			return err
		}
		// Also while the process ends: the receiver has it.
		if err := s.log.SetBookmark(context.WithoutCancel(ctx), r.bookmark(), item.Cursor); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// leaseID is the thread whose claim keeps two processes from sending to one receiver. It
// never has an event.
func leaseID(name string) events.ThreadID {
	return events.ThreadID(uuid.NewHash(sha256.New(), uuid.Nil, []byte(name), 4).String())
}
