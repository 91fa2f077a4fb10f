package loop

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/thread"
)

// Bounds of a result in parts. Every later request of the agent carries its images again.
const (
	// maxResultParts is more than any page or screen is shown in.
	maxResultParts = 32
	// maxImageBytes bounds the images of one result together: providers refuse one of more
	// than 5 MB in base64.
	maxImageBytes = 3_500_000
	// maxPartWords bounds names and media types.
	maxPartWords = 200
)

// partsOf gives a result in parts as the log has it, and the text that stands for it
// where only text is read. No parts mean that the text is all of it. Its texts may have
// max_tool_result_chars together.
func (l *Loop) partsOf(tx *thread.Tx, result agent.Result) (text string, parts []events.Part) {
	given := result.Parts
	if result.Text != "" {
		given = append([]events.Part{textPart(result.Text)}, given...)
	}
	room, left, dropped := maxImageBytes, l.Spec.MaxResultChars, 0
	bounded := left > 0
	for _, part := range given {
		if len(parts) == maxResultParts {
			dropped++
			continue
		}
		part = carried(part, room)
		room -= len(part.Bytes)
		if part.Type == events.PartText && bounded {
			if left <= 0 {
				dropped++
				continue
			}
			whole := chars.Count(part.Text)
			part.Text, _ = Bound(tx, l.Spec.ID, l.ID, part.Text, left)
			left -= whole
		}
		parts = append(parts, part)
	}
	if dropped > 0 {
		parts = append(parts, textPart(fmt.Sprintf("[%d more parts were left out]", dropped)))
	}
	text = events.Notes(parts)
	if !slices.ContainsFunc(parts, func(p events.Part) bool { return p.Type != events.PartText }) {
		parts = nil
	}
	return text, parts
}

func textPart(text string) events.Part { return events.Part{Type: events.PartText, Text: text} }

// carried gives the part as models can be given it: an image that none would take, that
// is not what it is called, or that has more bytes than room, is told of instead.
func carried(p events.Part, room int) events.Part {
	p.MediaType, p.Name, p.SHA256 = word(p.MediaType), word(p.Name), word(p.SHA256)
	switch p.Type {
	case events.PartText:
		return textPart(p.Text)
	case events.PartArtifact:
		p.Text, p.Bytes = "", nil
		return p
	case events.PartImage:
		if len(p.Bytes) == 0 && p.SHA256 != "" { // it is kept, and was looked at then
			p.Text = ""
			return p
		}
		p.Text, p.SizeBytes = "", int64(len(p.Bytes))
		is := http.DetectContentType(p.Bytes)
		if p.MediaType == "" {
			p.MediaType = is
		}
		switch {
		case !slices.Contains(thread.ImageTypes, p.MediaType):
			return leftOut(p, "models take "+strings.Join(thread.ImageTypes, ", "))
		case is != p.MediaType:
			return leftOut(p, "its bytes are "+is)
		case len(p.Bytes) > room:
			return leftOut(p, fmt.Sprintf("a result has room for images of %d kB", maxImageBytes/1000))
		}
		return p
	}
	return leftOut(p, "no model takes it")
}

// leftOut tells of a part instead of giving it.
func leftOut(p events.Part, why string) events.Part {
	return textPart(strings.TrimSuffix(p.Note(), "]") + ": left out, " + why + "]")
}

// word makes what a tool calls something one line of ordinary length.
func word(text string) string {
	return chars.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), maxPartWords)
}
