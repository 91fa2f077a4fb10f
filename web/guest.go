package web

import (
	"context"
	"net/http"

	"github.com/convene-run/convene/access"
)

// Guest is who sent a request that [Guard] let in.
type Guest struct {
	access.Identity
	again func() (access.Identity, error)
}

// Again looks at the credential once more, for what takes longer than a request: it may have
// been revoked, have ended or have lost a role since. The error says so.
func (g Guest) Again() (access.Identity, error) {
	if g.again == nil {
		return g.Identity, nil
	}
	return g.again()
}

// guest gives who sent a request. It may be asked again after the request has ended.
func (g *guard) guest(r *http.Request, who access.Identity) Guest {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	return Guest{who, func() (access.Identity, error) {
		now, err := g.identify(r)
		if err == nil && (now.Tenant != who.Tenant || now.User != who.User) {
			err = errNotAuthorized
		}
		return now, err
	}}
}

type guestKey struct{}

func withGuest(ctx context.Context, guest Guest) context.Context {
	return context.WithValue(ctx, guestKey{}, guest)
}

// GuestOf gives who sent the request of that context. come is false where no [Guard] let it in.
func GuestOf(ctx context.Context) (guest Guest, come bool) {
	guest, come = ctx.Value(guestKey{}).(Guest)
	return guest, come
}
