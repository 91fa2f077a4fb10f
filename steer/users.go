package steer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/lifetime"
	"github.com/convene-run/convene/web"
)

// Users exports and erases what is of the users of a log's tenants. Both stand in the tenant's
// audit. Log is required. It is safe for concurrent use.
type Users struct {
	Log events.Log
	// Wipe takes what was erased out of the files of the log, as
	// [github.com/convene-run/convene/events/sqlite.Log.Compact] does. Defaults to nothing, for
	// a log without files.
	Wipe func(context.Context) error

	mu sync.Mutex // held while something is erased: a store is rewritten by one at a time
}

var _ web.Users = (*Users)(nil)

// Export implements [web.Users]. Who may not restore what placeholders stand for gets events
// as viewers do.
func (u *Users) Export(ctx context.Context, by access.Identity, user string, w io.Writer) error {
	manifest, err := lifetime.Export(ctx, u.Log, by.Tenant, user, by.Allow(access.ContextRestore), w)
	if err != nil {
		return refused(err)
	}
	return audit.Append(ctx, u.Log, by.Tenant, by.Actor(), events.Audited{
		Action: events.AuditExported, UserID: user, What: manifest.String(),
	})
}

// Erase implements [web.Users].
func (u *Users) Erase(ctx context.Context, by access.Identity, user string) (web.Erased, error) {
	ctx = context.WithoutCancel(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	erased, err := lifetime.Erase(ctx, u.Log, by.Tenant, user)
	if erased.Threads > 0 {
		err = errors.Join(err, audit.Append(ctx, u.Log, by.Tenant, by.Actor(), events.Audited{
			Action: events.AuditErased, UserID: user, What: erased.String(),
		}))
		if u.Wipe != nil {
			err = errors.Join(err, u.Wipe(ctx))
		}
	}
	return web.Erased(erased), refused(err)
}

// refused says what is the caller's fault.
func refused(err error) error {
	var live *lifetime.LiveError
	switch {
	case errors.Is(err, lifetime.ErrNobody):
		return &web.Refusal{Status: http.StatusNotFound, Detail: "no thread of this tenant is of that user"}
	case errors.As(err, &live):
		return &web.Refusal{Status: http.StatusConflict, Detail: live.Error()}
	}
	return err
}
