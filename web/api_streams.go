package web

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// describeStreams adds the operations whose answers are no single JSON value, which
// huma does not serve, to the OpenAPI document.
func describeStreams(doc *huma.OpenAPI) {
	text := &huma.Schema{Type: "string"}
	whole := &huma.Schema{Type: "integer", Format: "int64", Minimum: new(float64)}
	answers := func(kinds ...string) map[string]*huma.Response {
		content := map[string]*huma.MediaType{}
		for _, kind := range kinds {
			content[kind] = &huma.MediaType{Schema: text}
		}
		problem := &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
			"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"}},
		}}
		return map[string]*huma.Response{"200": {Description: "OK", Content: content}, "default": problem}
	}
	doc.AddOperation(&huma.Operation{
		OperationID: "export-run", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}/export",
		Summary: "The run as a file: its log, or one HTML page that opens from disk",
		Parameters: []*huma.Param{
			{Name: "run_id", In: "path", Required: true, Schema: text},
			{Name: "format", In: "query", Schema: &huma.Schema{Type: "string", Enum: []any{"jsonl", "html"}, Default: "jsonl"}},
			{Name: "restore", In: "query", Schema: &huma.Schema{Type: "boolean", Default: false}, Description: "With what placeholders such as [EMAIL_1] stand for. Needs context:restore."},
		},
		Responses: answers("application/x-ndjson", "text/html"),
	})
	doc.AddOperation(&huma.Operation{
		OperationID: "get-run-artifact", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}/artifacts/{artifact_id}",
		Summary: "The bytes of a file of the run's thread, or of the text that was read of it, or a range of them (Range)",
		Parameters: []*huma.Param{
			{Name: "run_id", In: "path", Required: true, Schema: text},
			{Name: "artifact_id", In: "path", Required: true, Schema: text, Description: "The SHA-256 of the bytes: artifact or text of what list-run-artifacts gives."},
		},
		Responses: answers("application/octet-stream"),
	})
	doc.AddOperation(&huma.Operation{
		OperationID: "export-user", Method: http.MethodGet, Path: "/api/v1/users/{user_id}/export",
		Summary: "All that is of a user, as a ZIP archive: the logs of the threads that the user began, and their files",
		Parameters: []*huma.Param{
			{Name: "user_id", In: "path", Required: true, Schema: text},
		},
		Responses: answers("application/zip"),
	})
	doc.AddOperation(&huma.Operation{
		OperationID: "stream-thread-events", Method: http.MethodGet, Path: "/api/v1/threads/{thread_id}/events",
		Summary: "The events of a thread as they come, as server-sent events",
		Parameters: []*huma.Param{
			{Name: "thread_id", In: "path", Required: true, Schema: text},
			{Name: "after", In: "query", Schema: whole, Description: "Only events with a seq above this one."},
			{Name: "Last-Event-ID", In: "header", Schema: whole, Description: "As after, which it goes before: what EventSource sends when it comes back."},
		},
		Responses: answers("text/event-stream"),
	})
}
