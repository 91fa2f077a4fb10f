package web

import (
	"github.com/danielgtaylor/huma/v2"
)

// rawEvent is an event as the log keeps it.
type rawEvent []byte

// MarshalJSON gives the bytes as they are.
func (e rawEvent) MarshalJSON() ([]byte, error) { return e, nil }

// Schema describes the envelope for the OpenAPI document.
func (rawEvent) Schema(huma.Registry) *huma.Schema {
	text := func(what string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: what} }
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "One event. Data depends on type.",
		Properties: map[string]*huma.Schema{
			"v":         {Type: huma.TypeInteger, Description: "Version of the format."},
			"tenant_id": text("Whose run it is."), "thread_id": text("The thread."), "run_id": text("The run."),
			"seq":  {Type: huma.TypeInteger, Description: "Place in the thread, from 1, without gaps."},
			"time": {Type: huma.TypeString, Format: "date-time", Description: "UTC."},
			"type": text("The kind of event."), "agent": text("Whose event it is."), "dispatch_id": text("The dispatch that it belongs to."),
			"data": {Type: huma.TypeObject, Description: "The payload."},
		},
	}
}
