package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
)

type auditInput struct {
	Thread events.ThreadID `query:"thread_id" maxLength:"200" doc:"Only what was done in this thread, or in the batch of this id."`
	User   string          `query:"user_id" maxLength:"255" doc:"Only what this user did, and what was done on the user's behalf."`
	Since  time.Time       `query:"since" doc:"Only what was done then or later."`
	Cursor string          `query:"cursor" maxLength:"200" doc:"The next of the page before."`
	Limit  int             `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Entries at most."`
}

type auditOutput struct {
	Body struct {
		Entries []audit.Entry `json:"entries" doc:"Newest first."`
		Next    string        `json:"next,omitempty" doc:"The cursor of the next page; left out on the last."`
	}
}

func (s *Server) registerAudit(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/api/v1/audit",
		Summary: "Who did what: runs, delegations, handoffs, approvals, refusals, sign-ins, tokens, removals",
		Description: "Told from the log, with who, from where, when and why, and without the texts of users and agents. " +
			"Callers who may not see the threads of others get what they did, and what was done in their own.",
	}, s.listAudit)
}

func (s *Server) listAudit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	c := callerOf(ctx)
	page, err := audit.Read(ctx, s.config.Log, audit.Query{
		Tenant: c.Tenant, Thread: in.Thread, User: in.User, Only: c.only(), Since: in.Since, Before: in.Cursor, Limit: in.Limit,
	})
	if errors.Is(err, audit.ErrCursor) {
		err = refuse(http.StatusUnprocessableEntity, "cursor=%.40q is %s", in.Cursor, err.Error())
	}
	if err != nil {
		return nil, s.apiError(err)
	}
	out := &auditOutput{}
	out.Body.Entries, out.Body.Next = orEmpty(page.Entries), page.Next
	return out, nil
}
