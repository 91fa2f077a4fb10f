package mcpclient

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
)

// resultOf gives what a server answered as the model reads it: its texts, its images, and its
// structured result unless a text says the same. Audio and files become artifacts.
func resultOf(answer *mcp.CallToolResult, hide secrets) agent.Result {
	var parts []events.Part
	result := agent.Result{Failed: answer.IsError}
	for _, content := range answer.Content {
		if file, ok := fileOf(content); ok {
			file.Name, file.Origin = hide.in(file.Name), hide.in(file.Origin)
			result.Files = append(result.Files, file)
			continue
		}
		if part := partOf(content); part.Type != events.PartText || part.Text != "" {
			parts = append(parts, part)
		}
	}
	if text := structured(answer, parts); text != "" {
		parts = append(parts, events.Part{Type: events.PartText, Text: text})
	}
	var texts []string
	for len(parts) > 0 && parts[0].Type == events.PartText {
		texts, parts = append(texts, hide.in(parts[0].Text)), parts[1:]
	}
	for i := range parts {
		parts[i].Text = hide.in(parts[i].Text)
	}
	result.Text = strings.Join(texts, "\n")
	if len(parts) > 0 {
		result.Parts = parts
	} else if result.Text == "" && len(result.Files) == 0 {
		result.Text = "(no result)"
	}
	return result
}

// fileOf gives content that is neither text nor image as a file.
func fileOf(content mcp.Content) (file agent.File, ok bool) {
	switch c := content.(type) {
	case *mcp.AudioContent:
		return agent.File{Name: "audio", MediaType: c.MIMEType, Data: c.Data}, true
	case *mcp.EmbeddedResource:
		if r := c.Resource; r != nil && len(r.Blob) > 0 && !strings.HasPrefix(r.MIMEType, "image/") {
			return agent.File{Name: path.Base(r.URI), MediaType: r.MIMEType, Data: r.Blob, Origin: r.URI}, true
		}
	}
	return agent.File{}, false
}

func partOf(content mcp.Content) events.Part {
	switch c := content.(type) {
	case *mcp.TextContent:
		return events.Part{Type: events.PartText, Text: c.Text}
	case *mcp.ImageContent:
		return events.Part{Type: events.PartImage, MediaType: c.MIMEType, Bytes: c.Data, SizeBytes: int64(len(c.Data))}
	case *mcp.ResourceLink:
		return text("[link: %s %s %s]", c.Name, c.URI, c.MIMEType)
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return text("[content of another kind: not shown]")
}

func resource(r *mcp.ResourceContents) events.Part {
	switch {
	case r == nil:
		return text("")
	case strings.HasPrefix(r.MIMEType, "image/") && len(r.Blob) > 0:
		return events.Part{Type: events.PartImage, MediaType: r.MIMEType, Bytes: r.Blob, SizeBytes: int64(len(r.Blob)), Name: r.URI}
	}
	return text("%s\n%s", r.URI, r.Text)
}

func text(format string, args ...any) events.Part {
	return events.Part{Type: events.PartText, Text: fmt.Sprintf(format, args...)}
}

// structured gives the structured result as JSON, "" if there is none or one of the texts
// is the same JSON, as the protocol recommends.
func structured(answer *mcp.CallToolResult, parts []events.Part) string {
	if answer.StructuredContent == nil {
		return ""
	}
	body, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return ""
	}
	var whole any
	if json.Unmarshal(body, &whole) != nil {
		return ""
	}
	for _, part := range parts {
		var said any
		if part.Type == events.PartText && json.Unmarshal([]byte(part.Text), &said) == nil && reflect.DeepEqual(said, whole) {
			return ""
		}
	}
	return string(body)
}
