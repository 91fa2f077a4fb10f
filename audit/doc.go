// Package audit tells from the log who did what: every delegation, handoff, refusal, approval,
// sign-in and change of a run's state, with who, from where, when and why. It is no log of its
// own: what belongs to a run is told from the run's events, and what belongs to none stands in
// a thread of the tenant ([events.AuditThread]), with the same checksums and durability.
//
//	err := audit.Append(ctx, log, "acme", by, events.Audited{Action: events.AuditRemoved, Target: "0198c0de-…"})
//	…
//	page, err := audit.Read(ctx, log, audit.Query{Tenant: "acme", User: "ann", Since: yesterday})
//	for _, entry := range page.Entries {
//		fmt.Println(entry.Time, entry.Who(), entry.From(), entry.Action, entry.What, entry.Why)
//	}
//
// An entry holds no text of a user's: neither requests, messages and answers nor the arguments
// of calls.
package audit
