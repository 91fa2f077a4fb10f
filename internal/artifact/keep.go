package artifact

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
)

// Store keeps bytes for one thread.
type Store interface {
	// Put keeps the bytes, durably once it returns.
	Put(ctx context.Context, data []byte) (events.ArtifactID, error)
}

// maxNameChars bounds what a file is called.
const maxNameChars = 200

// PageBreak stands between two pages of a text.
const PageBreak = "\f"

// Size is what a file takes, its text included.
func Size(file *agent.File) int64 {
	size := int64(len(file.Data))
	for _, page := range file.Pages {
		size += int64(len(page))
	}
	return size
}

// Keep puts a file, with its text, and gives the event that names it. The error is the
// store's.
func Keep(ctx context.Context, store Store, file agent.File, source events.ArtifactSource) (events.ArtifactCreated, error) {
	created := events.ArtifactCreated{
		Name: Name(file.Name), MediaType: mediaType(&file), SizeBytes: int64(len(file.Data)),
		Source: source, Origin: oneLine(file.Origin), Note: oneLine(file.Note),
	}
	var err error
	if created.Artifact, err = store.Put(ctx, file.Data); err != nil {
		return created, err
	}
	text, has := textOf(&file, created.MediaType)
	if !has {
		return created, nil
	}
	created.Pages = len(file.Pages)
	created.Text, err = store.Put(ctx, []byte(text))
	return created, err
}

// textOf is the text of a file whose bytes are not that text.
func textOf(file *agent.File, mediaType string) (text string, has bool) {
	if len(file.Pages) > 0 {
		pages := make([]string, len(file.Pages))
		for i, page := range file.Pages {
			pages[i] = strings.ToValidUTF8(strings.ReplaceAll(page, PageBreak, "\n"), "\uFFFD")
		}
		text = strings.Join(pages, PageBreak)
		return cut(text, events.MaxArtifactBytes), true
	}
	if events.TextType(mediaType) && !utf8.Valid(file.Data) {
		return cut(strings.ToValidUTF8(string(file.Data), "\uFFFD"), events.MaxArtifactBytes), true
	}
	return "", false
}

// cut gives as much of a text as so many bytes hold.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// mediaType is what a file is said to be, or looks like.
func mediaType(file *agent.File) string {
	given, _, err := mime.ParseMediaType(file.MediaType)
	if err != nil || !strings.Contains(given, "/") {
		given, _, _ = mime.ParseMediaType(http.DetectContentType(file.Data))
	}
	return chars.Clip(given, maxNameChars)
}

// Name makes of what a file is called a name without folders.
func Name(name string) string {
	name = path.Base(strings.ReplaceAll(oneLine(name), `\`, "/"))
	if name == "." || name == "/" || name == ".." {
		return "file"
	}
	return name
}

func oneLine(text string) string {
	return chars.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), maxNameChars)
}

// Describe tells of a file as of the artifact that it will be.
func Describe(file *agent.File) string {
	return Note(&events.ArtifactCreated{
		Artifact: events.ArtifactOf(file.Data), Name: Name(file.Name), MediaType: mediaType(file),
		SizeBytes: int64(len(file.Data)), Pages: len(file.Pages), Note: oneLine(file.Note),
	})
}

// Note tells a model of an artifact in a line.
func Note(a *events.ArtifactCreated) string {
	said := []string{"artifact " + a.Artifact.Short(), a.Name, a.MediaType, fmt.Sprintf("%.1f kB", float64(a.SizeBytes)/1000)}
	switch {
	case a.Pages == 1:
		said = append(said, "1 page")
	case a.Pages > 1:
		said = append(said, fmt.Sprintf("%d pages", a.Pages))
	}
	if a.Note != "" {
		said = append(said, a.Note)
	}
	return "[" + strings.Join(said, ", ") + "]"
}
