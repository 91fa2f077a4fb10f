package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// Receiver is an address that is told of events.
type Receiver struct {
	// URL gets a POST for each event. It begins with https://, or with http:// where
	// PrivateHost allows its host. It names the receiver: another URL is another receiver,
	// which gets what happens from then on.
	URL string
	// Secrets sign: one, or several while one replaces another. Each is whsec_ and 24 to 64
	// random bytes in base64.
	Secrets []string
	// Kinds are the kinds of events that are sent. Defaults to [DefaultKinds].
	Kinds []events.Kind
	// Tenants are those whose events are sent. Defaults to every tenant of the log.
	Tenants []events.TenantID
	// PrivateHost is the host of URL once more, if that may be reached at an address that is
	// not public: of this machine, of a local network, of a cloud's metadata. Otherwise such
	// an address is refused whenever a connection is made.
	PrivateHost string
	// Unsanitized has events sent as they are. Otherwise personal data and secrets are masked
	// in them: see [sanitize.Mask].
	Unsanitized bool
}

// DefaultKinds are the kinds of events that concern people beside a conversation: who has it,
// what it waits for, what was refused, and that a run is over.
func DefaultKinds() []events.Kind {
	return slices.DeleteFunc(events.Kinds(), func(kind events.Kind) bool {
		switch kind {
		case events.KindPhaseChanged, events.KindWorkflowFinished, events.KindInputRequested, events.KindPermissionDenied:
			return false
		}
		return !strings.HasPrefix(string(kind), "handoff_")
	})
}

// Check says what is wrong with the receiver, its secrets aside: nil where nothing is. The
// error is a [*FieldError].
func (r Receiver) Check() error {
	address, err := url.Parse(r.URL)
	switch {
	case err != nil || address.Hostname() == "" || address.Scheme != "https" && address.Scheme != "http":
		return &FieldError{"url", errors.New("url is no address; write https://HOST/PATH")}
	case address.User != nil:
		return &FieldError{"url", errors.New("url has a user name in it: receivers know convene by its signature; remove it")}
	case r.PrivateHost != "" && !strings.EqualFold(r.PrivateHost, address.Hostname()):
		return &FieldError{"private_host", fmt.Errorf("private_host is %q, and the host of url %q: repeat it, or remove private_host", r.PrivateHost, address.Hostname())}
	case address.Scheme == "http" && r.PrivateHost == "":
		return &FieldError{"url", errors.New("url begins with http://, which anybody on the way can read; write https://, or name its host in private_host if it is in a network of yours")}
	}
	for _, kind := range r.Kinds {
		if !slices.Contains(events.Kinds(), kind) {
			return &FieldError{"kinds", fmt.Errorf("there are no events of the kind %q; those that there are: %s", kind, join(events.Kinds()))}
		}
	}
	return nil
}

// FieldError says which field of a [Receiver] is wrong, as configurations write it.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *FieldError) Unwrap() error { return e.Err }

func join(kinds []events.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}

// host is what people and metrics see of the receiver: a path may hold a secret.
func (r Receiver) host() string {
	address, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return address.Host
}

// wants reports whether events of the tenant are sent.
func (r Receiver) wants(tenant events.TenantID) bool {
	return len(r.Tenants) == 0 || slices.Contains(r.Tenants, tenant)
}

// bookmark is the name of the receiver's place in the log. The URL may hold a secret.
func (r Receiver) bookmark() string {
	sum := sha256.Sum256([]byte(r.URL))
	return "webhook/" + hex.EncodeToString(sum[:16])
}
