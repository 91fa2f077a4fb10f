package web

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

// describeAccess says in the OpenAPI document where the server is and who may come in.
func (s *Server) describeAccess(doc *huma.OpenAPI) {
	doc.Servers = []*huma.Server{{URL: "/", Description: "This server"}}
	if s.config.Keeper == nil {
		doc.Security = []map[string][]string{{}} // this machine alone can connect
		return
	}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "A token of convene token add, of an issuer that the server accepts, or the one in convene serve --token-file."},
		"session": {Type: "apiKey", In: "cookie", Name: cookieName, Description: "What a browser gets when it signs in."},
	}
	doc.Security = []map[string][]string{{"token": {}}, {"session": {}}}
}

// describeStatuses lists, where a schema has a status, what it can be.
func describeStatuses(schemas map[string]*huma.Schema) {
	for name, statuses := range map[string][]events.Status{
		"RunView": {
			events.StatusQueued, events.StatusRunning, events.StatusSuspended, events.StatusAwaitingInput,
			events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled,
		},
		"BatchView": {
			events.StatusRunning, events.StatusSuspended,
			events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled,
		},
		"event_data_workflow_finished": {events.StatusCompleted, events.StatusDegraded, events.StatusFailed, events.StatusCancelled},
	} {
		if schema := schemas[name]; schema != nil && schema.Properties["status"] != nil {
			for _, status := range statuses {
				schema.Properties["status"].Enum = append(schema.Properties["status"].Enum, string(status))
			}
		}
	}
}
