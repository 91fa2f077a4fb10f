package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

const (
	// pingInterval keeps proxies from closing a quiet connection and finds dead ones.
	pingInterval = 15 * time.Second
	// writeTimeout is how long one message may take; a viewer that takes longer is cut
	// off and resumes from its seq.
	writeTimeout = 10 * time.Second
	// stillInterval is how soon a quiet viewer whose credential has ended is sent away; one
	// that is sent something is looked at before.
	stillInterval = time.Second
	// frameBytes bounds one message: what a browser parses between two frames.
	frameBytes = 64 << 10
)

// sink is a viewer's connection. All calls come from one goroutine.
type sink interface {
	events([]events.Encoded) error
	live([]byte) error
	ping() error
}

// welcome is a viewer's connection for as long as whoever opened it may see the thread.
type welcome struct {
	sink
	// still says whether that is so.
	still func() error
	// pings and look tell when to ping the viewer, and to ask still.
	pings, look *time.Ticker
}

func (v *welcome) events(batch []events.Encoded) error {
	if err := v.still(); err != nil {
		return err
	}
	return v.sink.events(batch)
}

func (v *welcome) live(message []byte) error {
	if err := v.still(); err != nil {
		return err
	}
	return v.sink.live(message)
}

// stillMay gives what says whether the caller of a request may still see a thread: their
// credential may be revoked, expire, or lose the role that shows it.
func (s *Server) stillMay(r *http.Request, thread events.ThreadID) func() error {
	was := callerOf(r.Context())
	return func() error {
		who, err := s.guard.identify(r)
		switch {
		case err != nil:
			return err
		case who.Tenant != was.Tenant || who.User != was.User || !who.Allow(was.door.needs):
			return errNotAuthorized
		case was.Allow(access.OthersRead) && !who.Allow(access.OthersRead):
			return s.reach(withCaller(r.Context(), caller{who, was.door, was.signedIn, nil}), thread, errNotAuthorized)
		}
		return nil
	}
}

// stream sends a thread to the viewer who sent the request: all after that seq, then what
// comes, without a gap or a duplicate. It returns when ctx ends, the connection fails, or the
// viewer may see the thread no longer: that is a [*Refusal].
func (s *Server) stream(ctx context.Context, r *http.Request, key events.ThreadKey, after events.Seq, to sink) error {
	f := s.feeds.join(key, after)
	defer f.leave()
	out := &welcome{sink: to, still: s.stillMay(r, key.Thread), pings: time.NewTicker(pingInterval), look: time.NewTicker(stillInterval)}
	defer out.pings.Stop()
	defer out.look.Stop()
	shown := 0
	for first := true; ; first = false {
		now := f.now()
		until := now.head
		if first { // the follower may have begun behind this viewer's place
			until = math.MaxInt64
		}
		if err := s.catchUp(ctx, f, &after, until, out); err != nil {
			return err
		}
		if now.version != shown {
			shown = now.version
			if err := out.live(now.live); err != nil {
				return err
			}
		}
		if now.err != nil {
			return fmt.Errorf("%w: %w", errGone, now.err)
		}
		if err := s.pause(ctx, now, out); err != nil {
			return err
		}
	}
}

// catchUp sends what there is after that seq, up to until: a viewer who has what the
// follower has seen asks the log no more.
func (s *Server) catchUp(ctx context.Context, f *feed, after *events.Seq, until events.Seq, out sink) error {
	for *after < until {
		batch, err := f.read(ctx, *after)
		if err != nil || len(batch) == 0 {
			return err
		}
		batch = batch[:fitting(batch)]
		if err := out.events(batch); err != nil {
			return err
		}
		s.metrics.sent.Add(float64(len(batch)))
		*after = batch[len(batch)-1].Seq
	}
	return nil
}

// pause waits until there may be something to send.
func (s *Server) pause(ctx context.Context, now moment, out *welcome) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return errGone
		case <-now.grown:
			return nil
		case <-out.look.C:
			if err := out.still(); err != nil {
				return err
			}
		case <-out.pings.C:
			if err := out.ping(); err != nil {
				return err
			}
		}
	}
}

// fitting is how many events go into one message.
func fitting(batch []events.Encoded) int {
	size := 0
	for i, e := range batch {
		size += len(e.Body)
		if size > frameBytes && i > 0 {
			return i
		}
	}
	return len(batch)
}

// place reads which thread a viewer wants and from where. name is that of the parameter
// that says where.
func (s *Server) place(r *http.Request, thread, name, after string) (events.ThreadKey, events.Seq, error) {
	key := callerOf(r.Context()).key(events.ThreadID(thread))
	if thread == "" {
		return key, 0, refuse(http.StatusBadRequest, "thread_id is missing: /ws?thread_id=…&after=0. GET /api/v1/runs gives the threads")
	}
	seq := int64(0)
	if after != "" {
		var err error
		if seq, err = strconv.ParseInt(after, 10, 64); err != nil || seq < 0 {
			return key, 0, refuse(http.StatusBadRequest, "%s=%.40q is not a seq: give the seq of the last event that you have, 0 for none", name, after)
		}
	}
	tip, err := s.tip(r.Context(), key.Thread)
	if err == nil && events.Seq(seq) > tip.Seq {
		err = refuse(http.StatusBadRequest, "%s=%d is beyond the thread's last event, which has seq %d", name, seq, tip.Seq)
	}
	if err != nil {
		return key, 0, err
	}
	return key, events.Seq(seq), nil
}

func refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Detail: fmt.Sprintf(format, args...)}
}
