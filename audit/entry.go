package audit

import (
	"log/slog"
	"strings"
	"time"

	"github.com/convene-run/convene/events"
)

// Entry is one thing that was done.
type Entry struct {
	Time   time.Time       `json:"time"`
	Tenant events.TenantID `json:"tenant_id"`
	// Thread and Run are where it was done, Seq the event that tells of it. Both are empty for
	// what belongs to no run: Seq is then one of the tenant's own thread.
	Thread events.ThreadID `json:"thread_id,omitempty"`
	Run    events.RunID    `json:"run_id,omitempty"`
	Seq    events.Seq      `json:"seq"`
	// Action names what was done: "run_started", "approved", "refused", …
	Action string `json:"action"`
	// By is who did it from outside, nil for agents and for convene itself. Agent is the agent
	// who did it, Owner the user whose thread it is, on whose behalf agents work, or to whom it
	// was done.
	By    *events.Actor  `json:"by,omitempty"`
	Agent events.AgentID `json:"agent,omitempty"`
	Owner string         `json:"owner,omitempty"`
	// What says what it was about, Why for what reason, both in words and "" where nobody said.
	What string `json:"what,omitempty"`
	Why  string `json:"why,omitempty"`
	// More counts further ones of the same caller within a minute, which are not told one by one.
	More int `json:"more,omitempty"`
}

// Who says in words who did it.
func (e Entry) Who() string {
	who := "convene"
	switch {
	case e.Action == ActionLost:
		return "unknown"
	case e.By != nil && e.By.UserID != "":
		who = e.By.UserID
	case e.By != nil && e.failed():
		return "somebody"
	case e.By != nil:
		who = "operator"
	case e.Agent != "":
		who = string(e.Agent)
	}
	switch {
	case e.By != nil && e.By.Issuer != "":
		who += " (" + e.By.Issuer + ")"
	case e.By != nil && e.By.TokenID != "":
		who += " (token " + e.By.TokenID + ")"
	case e.By == nil && e.Owner != "":
		who += " for " + e.Owner
	}
	return who
}

// failed reports whether nobody is known to have done it.
func (e Entry) failed() bool { return e.Action == string(events.AuditSignInFailed) }

// From says in words where they came in: "" for what agents and convene itself did.
func (e Entry) From() string {
	switch {
	case e.By == nil:
		return ""
	case e.By.Remote == "":
		return string(e.By.Door)
	}
	return string(e.By.Door) + " " + e.By.Remote
}

// Refused reports whether something was refused.
func (e Entry) Refused() bool { return e.failed() || e.Action == actionRefused }

// has reports whether the entry concerns a user: who did it, or on whose behalf it was done.
func (e Entry) has(user string) bool {
	return e.Owner == user || e.By != nil && e.By.UserID == user
}

// LogValue implements [slog.LogValuer].
func (e Entry) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Time("time", e.Time), slog.String("tenant_id", string(e.Tenant)), slog.String("action", e.Action)}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if by := e.By; by != nil {
		add("user_id", by.UserID)
		add("token_id", by.TokenID)
		add("issuer", by.Issuer)
		add("door", string(by.Door))
		add("remote", by.Remote)
	}
	add("agent", string(e.Agent))
	add("owner", e.Owner)
	add("thread_id", string(e.Thread))
	add("run_id", string(e.Run))
	add("what", e.What)
	add("why", e.Why)
	if e.More > 0 {
		attrs = append(attrs, slog.Int("more", e.More))
	}
	return slog.GroupValue(attrs...)
}

// join puts the parts together that say something.
func join(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part != "" {
			said = append(said, part)
		}
	}
	return strings.Join(said, ", ")
}
