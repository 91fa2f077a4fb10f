package web

import (
	"fmt"
	"net/http"

	"github.com/convene-run/convene/access"
)

// door is who may come in by a route.
type door struct {
	// needs is the permission; "" lets in everybody whose credential is known.
	needs string
	// changes says that a thread or batch of others needs [access.OthersAct] in addition, not
	// only that it may be seen.
	changes bool
	// open lets in everybody, without a credential.
	open bool
}

// doors has every route of the server: one that is missing here cannot be registered.
var doors = map[string]door{
	"GET /healthz":             {open: true},
	"GET " + loginAddress:      {open: true},
	"POST " + loginAddress:     {open: true},
	"POST " + logoutAddress:    {open: true},
	"GET /metrics":             {needs: access.MetricsRead},
	"GET /ws":                  {needs: access.RunsRead},
	pageRoute:                  {},
	"/":                        {},
	"GET /api/v1/openapi.json": {},
	"GET /api/v1/openapi.yaml": {},

	"GET /api/v1/openapi-3.0.json": {},
	"GET /api/v1/openapi-3.0.yaml": {},

	"GET /api/v1/server": {},
	"GET /api/v1/teams":  {},

	"GET /api/v1/audit": {needs: access.AuditRead},

	"GET /api/v1/runs":                                  {needs: access.RunsRead},
	"GET /api/v1/runs/totals":                           {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}":                         {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}/result":                  {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}/events":                  {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}/export":                  {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}/artifacts":               {needs: access.RunsRead},
	"GET /api/v1/runs/{run_id}/artifacts/{artifact_id}": {needs: access.RunsRead},
	"POST /api/v1/runs":                                 {needs: access.RunsStart, changes: true},
	"POST /api/v1/runs/{run_id}/fork":                   {needs: access.RunsStart},
	"POST /api/v1/runs/{run_id}/resume":                 {needs: access.RunsStart, changes: true},
	"POST /api/v1/runs/{run_id}/stop":                   {needs: access.RunsCancel, changes: true},
	"POST /api/v1/runs/{run_id}/cancel":                 {needs: access.RunsCancel, changes: true},

	"GET /api/v1/threads":                        {needs: access.RunsRead},
	"GET /api/v1/threads/{thread_id}":            {needs: access.RunsRead},
	"GET /api/v1/threads/{thread_id}/events":     {needs: access.RunsRead},
	"GET /api/v1/threads/{thread_id}/messages":   {needs: access.RunsRead},
	"GET /api/v1/threads/{thread_id}/values":     {needs: access.ContextRestore},
	"POST /api/v1/threads/{thread_id}/messages":  {needs: access.ThreadsWrite, changes: true},
	"POST /api/v1/threads/{thread_id}/handoff":   {needs: access.ThreadsWrite, changes: true},
	"DELETE /api/v1/threads/{thread_id}/handoff": {needs: access.ThreadsWrite, changes: true},

	"GET /api/v1/users/{user_id}/export": {needs: access.UsersExport},
	"DELETE /api/v1/users/{user_id}":     {needs: access.UsersErase},

	"GET /api/v1/batches":                    {needs: access.RunsRead},
	"GET /api/v1/batches/{batch_id}":         {needs: access.RunsRead},
	"GET /api/v1/batches/{batch_id}/rows":    {needs: access.RunsRead},
	"POST /api/v1/batches/{batch_id}/stop":   {needs: access.RunsCancel, changes: true},
	"POST /api/v1/batches/{batch_id}/resume": {needs: access.RunsStart, changes: true},
	"POST /api/v1/batches/{batch_id}/retry":  {needs: access.RunsStart, changes: true},
}

// router registers routes that have a door, and guards it.
type router struct {
	*http.ServeMux
	server *Server
}

// Handle registers a route. One without a door is a mistake of ours.
func (m router) Handle(pattern string, handler http.Handler) {
	d, known := doors[pattern]
	if !known {
		panic(fmt.Sprintf("route %q has no door in web/doors.go", pattern))
	}
	m.ServeMux.Handle(pattern, m.server.admit(d, handler))
}

// pageRoute stands for the page and what it is made of. What the page tells of runs, it tells by
// the permissions of the caller: others get it without, and the script says why.
const pageRoute = "the page"

// page registers a file of the page.
func (m router) page(path string, handler http.HandlerFunc) {
	m.ServeMux.Handle("GET "+path, m.server.admit(doors[pageRoute], handler))
}

// HandleFunc is Handle of a function.
func (m router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// admit lets in whoever has the permission of the door. What is behind it does not count yet:
// nobody learns from a refusal whether it exists.
func (s *Server) admit(d door, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.open {
			next.ServeHTTP(w, r)
			return
		}
		who, err := s.guard.identify(r)
		if err != nil {
			s.unknownCaller(r, err)
			s.problem(w, r, err)
			return
		}
		who.Door, who.Remote = doorOf(r), remoteOf(r)
		c := caller{who, d, s.guard.signedIn(r), new(string)}
		r = r.WithContext(withCaller(r.Context(), c))
		w = &refusedWriter{w, func(status int) { s.refused(r, c, status) }}
		if !who.Allow(d.needs) {
			s.problem(w, r, c.missing(d.needs))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// missing refuses a caller who lacks a permission.
func (c caller) missing(permission string) error {
	if c.lacks != nil {
		*c.lacks = permission
	}
	return refuse(http.StatusForbidden, "you may not do this: the permission %s is missing", permission)
}
