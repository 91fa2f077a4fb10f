package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
)

// The names of the tools.
const (
	ReadTool  = "read_artifact"
	WriteTool = "write_artifact"
)

const (
	// readChars is what one read gives where results have no bound.
	readChars = 24_000
	// aroundChars is kept of a result for what stands before and behind the text.
	aroundChars = 600
	// scanBytes is how much is looked at once for the end of a page.
	scanBytes = 256 << 10
)

type readArgs struct {
	Artifact string `json:"artifact" jsonschema:"The artifact: its id, the beginning of it, or its name."`
	Page     int    `json:"page,omitempty" jsonschema:"The page to read, from 1, of an artifact that has pages. Defaults to the first."`
	Offset   int64  `json:"offset,omitempty" jsonschema:"Where to read on within the page or the artifact, as the read before has said. Defaults to the beginning."`
}

// Reader reads artifacts by pages and stretches.
func Reader() agent.Tool {
	return agent.Func(llm.Tool{
		Name: ReadTool,
		Description: "Reads an artifact: a file, or the whole of a tool result that was cut. It gives one page, or one stretch, at a time " +
			"and says how to read on. An image is shown.",
	}, events.EffectPure, read)
}

func read(ctx context.Context, in agent.Invocation, args readArgs) (agent.Result, error) {
	a, err := in.Artifacts.Find(args.Artifact)
	if err != nil {
		return agent.Result{}, err
	}
	text := a.Readable()
	if text == "" {
		return shown(&a)
	}
	reader, err := in.Artifacts.Open(ctx, text)
	if err != nil {
		return agent.Result{}, fmt.Errorf("artifact %s cannot be read: %w", a.Artifact.Short(), err)
	}
	stretch, err := stretchOf(reader, &a, args)
	if err != nil {
		return agent.Result{}, err
	}
	most := readChars
	if in.MaxResultChars > 0 {
		most = in.MaxResultChars
	}
	said, err := stretch.read(reader, int64(max(most-aroundChars, aroundChars/2)))
	return agent.Result{Text: said, Sources: []events.Source{{Artifact: a.Artifact, Page: stretch.page, Title: a.Name}}}, err
}

// shown shows an artifact that has no text, if it is an image.
func shown(a *events.ArtifactCreated) (agent.Result, error) {
	if !strings.HasPrefix(a.MediaType, "image/") {
		note := ""
		if a.Note != "" {
			note = ": " + a.Note
		}
		return agent.Result{}, fmt.Errorf("artifact %s (%s, %s) has no text to read%s", a.Artifact.Short(), a.Name, a.MediaType, note)
	}
	part := a.Part()
	part.Type = events.PartImage
	return agent.Result{Text: Note(a), Parts: []events.Part{part}}, nil
}

// stretch is what is read of an artifact: a page, or all, from a place on.
type stretch struct {
	artifact       *events.ArtifactCreated
	page           int // 0 where there are none
	begin, at, end int64
}

func stretchOf(reader *io.SectionReader, a *events.ArtifactCreated, args readArgs) (stretch, error) {
	s := stretch{artifact: a, end: reader.Size()}
	if a.Pages > 0 {
		s.page = max(args.Page, 1)
	}
	switch {
	case args.Page < 0 || args.Offset < 0:
		return s, errors.New("page counts from 1, offset from 0")
	case s.page > a.Pages || s.page == 0 && args.Page > 1:
		return s, fmt.Errorf("artifact %s has %d pages; there is no page %d", a.Artifact.Short(), a.Pages, args.Page)
	case s.page > 0:
		var err error
		if s.begin, s.end, err = pageOf(reader, s.page); err != nil {
			return s, err
		}
	}
	s.at = s.begin + args.Offset
	if s.at > s.end || s.at == s.end && args.Offset > 0 {
		return s, fmt.Errorf("it ends at offset %d", s.end-s.begin)
	}
	return s, nil
}

// pageOf finds where a page begins and ends.
func pageOf(reader io.ReaderAt, page int) (begin, end int64, err error) {
	buffer := make([]byte, scanBytes)
	for at, current := int64(0), 1; ; at += scanBytes {
		n, err := reader.ReadAt(buffer, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		for i, b := range buffer[:n] {
			if b != PageBreak[0] {
				continue
			}
			if current == page {
				return begin, at + int64(i), nil
			}
			current++
			begin = at + int64(i) + 1
		}
		if err != nil {
			if current < page {
				begin = at + int64(n)
			}
			return begin, at + int64(n), nil
		}
	}
}

// read gives the text, at most so many bytes, with what it is and how to read on.
func (s stretch) read(reader io.ReaderAt, most int64) (string, error) {
	buffer := make([]byte, min(most, s.end-s.at))
	if _, err := reader.ReadAt(buffer, s.at); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("artifact %s cannot be read: %w", s.artifact.Artifact.Short(), err)
	}
	text := whole(buffer, s.at+int64(len(buffer)) < s.end)
	next := s.at + int64(len(text))
	head := fmt.Sprintf("Artifact %s (%s)", s.artifact.Artifact.Short(), s.artifact.Name)
	if s.page > 0 {
		head += fmt.Sprintf(", page %d of %d", s.page, s.artifact.Pages)
	}
	head += fmt.Sprintf(", bytes %d to %d of %d:\n\n", s.at-s.begin, next-s.begin, s.end-s.begin)
	return head + strings.ToValidUTF8(text, "\uFFFD") + s.more(next), nil
}

// more says how to read on.
func (s stretch) more(next int64) string {
	switch {
	case next < s.end && s.page > 0:
		return fmt.Sprintf("\n\n[read on with page %d, offset %d]", s.page, next-s.begin)
	case next < s.end:
		return fmt.Sprintf("\n\n[read on with offset %d]", next)
	case s.page > 0 && s.page < s.artifact.Pages:
		return fmt.Sprintf("\n\n[end of the page; the next is %d]", s.page+1)
	}
	return "\n\n[end]"
}

// whole leaves out a character at the end of which only a part is there.
func whole(text []byte, more bool) string {
	if more {
		for cut := 1; cut < utf8.UTFMax && cut < len(text); cut++ {
			if start := len(text) - cut; utf8.RuneStart(text[start]) {
				if !utf8.FullRune(text[start:]) {
					text = text[:start]
				}
				break
			}
		}
	}
	return string(text)
}
