package web

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// RestoreInput has a caller ask for values in place of placeholders. It is exported for huma,
// which sees no other embedded struct.
type RestoreInput struct {
	Restore bool `query:"restore" doc:"With the values in place of placeholders such as [EMAIL_1]. Needs context:restore."`
}

type valuesInput struct {
	Thread events.ThreadID `path:"thread_id"`
}

type valuesOutput struct {
	Body struct {
		Values []events.ReplacedValue `json:"values" doc:"By their placeholders."`
	}
}

func (s *Server) registerValues(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-thread-values", Method: http.MethodGet, Path: "/api/v1/threads/{thread_id}/values",
		Summary: "What the placeholders of a thread stand for", Errors: []int{http.StatusForbidden},
	}, s.listValues)
}

func (s *Server) listValues(ctx context.Context, in *valuesInput) (*valuesOutput, error) {
	out := &valuesOutput{}
	err := s.foldThread(ctx, in.Thread, func(th *thread.Thread) error {
		for _, v := range th.Values.All() {
			out.Body.Values = append(out.Body.Values, events.ReplacedValue{Placeholder: v.Placeholder, What: string(v.Kind), Original: v.Text})
		}
		return nil
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	out.Body.Values = orEmpty(out.Body.Values)
	return out, nil
}

// mayRestore reads restore=true from a request, and refuses who may not ask for that.
func (s *Server) mayRestore(r *http.Request) (bool, error) {
	given := r.URL.Query().Get("restore")
	if given == "" {
		return false, nil
	}
	restore, err := strconv.ParseBool(given)
	if err != nil {
		return false, refuse(http.StatusBadRequest, "restore=%.40q is not known: true or false", given)
	}
	if who := callerOf(r.Context()); restore && !who.Allow(access.ContextRestore) {
		return false, who.missing(access.ContextRestore)
	}
	return restore, nil
}
