package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

const (
	// maxTries bounds how often the thread is looked for while another process begins it, and
	// tryPause is the time between: that takes two commits.
	maxTries = 100
	tryPause = 20 * time.Millisecond
	// owner is who holds the thread while it gets its first event.
	owner events.Owner = "audit"
)

// Append adds a fact to the tenant's own thread, durably: one of the kinds that may be posted.
// by is who caused it. The error is the log's.
func Append(ctx context.Context, log events.Writer, tenant events.TenantID, by *events.Actor, fact events.Event) error {
	key := events.ThreadKey{Tenant: tenant.OrLocal(), Thread: events.AuditThread}
	var err error
	for range maxTries {
		if _, err = log.Post(ctx, key, events.Envelope{By: by, Data: fact}); !errors.Is(err, events.ErrNotFound) {
			break
		}
		if err = begin(ctx, log, key, events.Envelope{By: by, Data: fact}); !overtaken(err) {
			break
		}
		time.Sleep(tryPause)
	}
	if err != nil {
		return fmt.Errorf("append to the audit of tenant %s: %w", key.Tenant, err)
	}
	return nil
}

// begin gives the thread its first event.
func begin(ctx context.Context, log events.Writer, key events.ThreadKey, env events.Envelope) error {
	epoch, err := log.Claim(ctx, key, owner, false)
	if err != nil {
		return err
	}
	err = log.Append(ctx, key, epoch, 0, []events.Envelope{env})
	return errors.Join(err, log.Release(ctx, key, epoch))
}

// overtaken reports whether somebody else begins the thread.
func overtaken(err error) bool {
	return errors.Is(err, events.ErrHeld) || errors.Is(err, events.ErrConflict) || errors.Is(err, events.ErrFenced)
}
