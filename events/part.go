package events

import (
	"fmt"
	"strings"
)

// PartType says what a part of a result is.
type PartType string

// The types of parts.
const (
	PartText  PartType = "text"
	PartImage PartType = "image"
	// PartDocument is a PDF that came with a request: its bytes, for models that read pages.
	// No event has one.
	PartDocument PartType = "document"
	// PartArtifact is a file that is kept elsewhere: the model is told of it.
	PartArtifact PartType = "artifact"
)

// Part is one piece of a result that is more than text.
type Part struct {
	Type PartType `json:"type"`
	// Text is the text of a text.
	Text string `json:"text,omitempty"`
	// MediaType is of an image or an artifact, such as "image/png".
	MediaType string `json:"media_type,omitempty"`
	// Bytes are an image. Viewers get an empty text in their place.
	Bytes []byte `json:"base64,omitempty"`
	// Name and SHA256, in hexadecimal digits, are of an artifact.
	Name   string `json:"name,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// SizeBytes is how large the image or the artifact is.
	SizeBytes int64 `json:"size_bytes,omitempty"`
}

// Note gives the part as text: for those who cannot be shown what it is.
func (p *Part) Note() string {
	if p.Type == PartText {
		return p.Text
	}
	said := []string{string(p.Type)}
	if p.Name != "" {
		said = append(said, p.Name)
	}
	if p.MediaType != "" {
		said = append(said, p.MediaType)
	}
	said = append(said, fmt.Sprintf("%.1f kB", float64(p.SizeBytes)/1000))
	if p.SHA256 != "" {
		said = append(said, "sha256 "+p.SHA256)
	}
	return "[" + strings.Join(said, ", ") + "]"
}

// Notes gives the parts as text, one below the other.
func Notes(parts []Part) string {
	notes := make([]string, len(parts))
	for i := range parts {
		notes[i] = parts[i].Note()
	}
	return strings.Join(notes, "\n")
}
