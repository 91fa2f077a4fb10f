package builtin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

type readFileArgs struct {
	Path   string `json:"path" jsonschema:"The file, as list_files names it."`
	Offset int64  `json:"offset,omitempty" jsonschema:"Where to begin, in bytes: the offset that the previous part names. Defaults to 0."`
}

// errNoText is for a file that has to be read otherwise than as text.
var errNoText = errors.New("no text in UTF-8")

// pdfMark begins a PDF, which may be made of text and is none.
var pdfMark = []byte("%PDF-")

// readFile reads a part of a text file. A document of another kind becomes an artifact, which
// is read by pages.
func readFile(within *folders, most int, documents *documents) agent.Tool {
	description := "Reads a text file. A long one comes in parts: each says at which offset the next begins."
	if documents != nil {
		description += " A document, such as a PDF, or an image becomes an artifact."
	}
	return agent.Func(llm.Tool{Name: team.ToolReadFile, Description: description}, events.EffectPure, func(ctx context.Context, in agent.Invocation, args readFileArgs) (agent.Result, error) {
		within, err := within.of(&in)
		if err != nil {
			return agent.Result{}, err
		}
		file, info, err := within.file(args.Path)
		if err != nil {
			return agent.Result{}, err
		}
		defer file.Close()
		text, err := readPart(file, args.Path, args.Offset, info.Size(), most)
		if errors.Is(err, errNoText) {
			return documents.read(ctx, in, file, args.Path)
		}
		return agent.Result{Text: text, Sources: []events.Source{{File: args.Path}}}, err
	})
}

// readPart gives a part of a file, with the note that says how to read on.
func readPart(file io.ReaderAt, name string, offset, size int64, most int) (string, error) {
	if offset < 0 || offset > size {
		return "", pastEnd(offset, size)
	}
	piece := make([]byte, min(size-offset, int64(most)*utf8.UTFMax+utf8.UTFMax))
	n, err := file.ReadAt(piece, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", told(name, err)
	}
	piece = piece[:n]
	if n == 0 {
		return "[the file is empty, or ends here]", nil
	}
	piece = wholeRunes(piece, offset+int64(n) < size)
	if bytes.IndexByte(piece, 0) >= 0 || !utf8.Valid(piece) || bytes.HasPrefix(piece, pdfMark) {
		return "", errNoText
	}
	text, _ := chars.Cut(string(piece), most)
	next := offset + int64(len(text))
	if next >= size {
		next = 0
	}
	return text + readOn(offset, next, size), nil
}

// wholeRunes leaves out the beginning of a character that the end cuts, where more follows.
func wholeRunes(text []byte, more bool) []byte {
	for i := 1; more && i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
