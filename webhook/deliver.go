package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"github.com/convene-run/convene/events"
)

const (
	// firstWait and maxWait bound the waits between attempts: each is twice the one before.
	// A receiver that is back is not kept waiting, and one that is gone costs little.
	firstWait = time.Second
	maxWait   = time.Minute
	// logWait is how long a log that fails, or a receiver that another process sends to, is
	// left alone.
	logWait = 5 * time.Second
	// remindEvery is how often the log line of a receiver that is down comes again.
	remindEvery = time.Hour
)

// errGone says that a receiver wants nothing more.
var errGone = errors.New("the receiver answered 410 Gone")

// receiver is a [Receiver] with what sending to it takes.
type receiver struct {
	Receiver
	keys    [][]byte
	client  *http.Client
	metrics *metrics
	logger  zerolog.Logger
}

func newReceiver(r Receiver, m *metrics, logger *zerolog.Logger) (*receiver, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if len(r.Secrets) == 0 {
		return nil, fmt.Errorf("it has no secret: %w", errSecret)
	}
	if len(r.Kinds) == 0 {
		r.Kinds = DefaultKinds()
	}
	own := &receiver{Receiver: r, client: newClient(r), metrics: m, logger: logger.With().Str("receiver", r.host()).Logger()}
	for _, secret := range r.Secrets {
		key, err := parseSecret(secret)
		if err != nil {
			return nil, err
		}
		own.keys = append(own.keys, key)
	}
	m.known(r.host())
	return own, nil
}

// deliver sends an event until the receiver has taken it. The error is the context's, or
// [errGone].
func (r *receiver) deliver(ctx context.Context, env events.Envelope) error {
	body, err := r.encode(env)
	if err != nil {
		return err
	}
	id := eventID(env)
	var reminded time.Time
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := r.attempt(ctx, id, body)
		if err == nil {
			r.metrics.delivered(r.host(), env.Time)
			if !reminded.IsZero() {
				r.logger.Info().Str("event", id).Msg("webhook: the receiver is back")
			}
			return nil
		}
		if errors.Is(err, errGone) || ctx.Err() != nil {
			return err
		}
		r.metrics.failed(r.host())
		if time.Since(reminded) >= remindEvery {
			reminded = time.Now()
			r.logger.Warn().Err(err).Str("event", id).Msg("webhook: the receiver did not take the event; it is sent again, and those behind it wait")
		}
		if err := pause(ctx, jitter(wait)); err != nil {
			return err
		}
	}
}

// attempt sends an event once.
func (r *receiver) attempt(ctx context.Context, id string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "convene-webhook")
	sign(request.Header, r.keys, id, time.Now(), body)
	response, err := r.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswerBytes) // the status alone counts
	switch {
	case response.StatusCode == http.StatusGone:
		return errGone
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("the receiver answered HTTP %d, not 2xx", response.StatusCode)
	}
	return nil
}

// withoutURL is the error without the URL, which may hold a secret.
func withoutURL(err error) error {
	var told *url.Error
	if errors.As(err, &told) {
		return told.Err
	}
	return err
}

// jitter spreads the waits of many receivers by a quarter.
func jitter(wait time.Duration) time.Duration {
	return wait - time.Duration(rand.Int64N(int64(wait)/4))
}

// pause waits, or gives the context's error.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
