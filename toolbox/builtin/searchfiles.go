package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

const (
	// maxSearchedBytes bounds what one search reads.
	maxSearchedBytes = 512 << 20
	// maxMatches bounds the lines that are found: who needs more asks more precisely.
	maxMatches = 500
	// lineBytes bounds a line that is looked at as one, lineChars what is shown of it.
	lineBytes = 64 << 10
	lineChars = 300
	// sniffBytes are looked at to tell text from other files.
	sniffBytes = 4 << 10
	// maxPatternBytes bounds a pattern. It takes time linear in the text: RE2.
	maxPatternBytes = 1_000
)

type searchFilesArgs struct {
	Pattern string `json:"pattern" jsonschema:"What to look for: a regular expression (RE2), matched within a line."`
	Path    string `json:"path,omitempty" jsonschema:"The folder to search, with all below it. Defaults to everything that may be read."`
	Match   string `json:"match,omitempty" jsonschema:"Only files whose name, without its folders, matches, such as *.md."`
	Any     bool   `json:"any_case,omitempty" jsonschema:"Whether upper and lower case are the same. Defaults to false."`
}

// searchFiles finds lines in text files.
func searchFiles(within *folders) agent.Tool {
	return agent.Func(llm.Tool{
		Name:        team.ToolSearchFiles,
		Description: "Finds the lines of text files that match a regular expression: file, line number and line.",
	}, events.EffectPure, func(ctx context.Context, in agent.Invocation, args searchFilesArgs) (agent.Result, error) {
		s, err := newSearch(args)
		if err != nil {
			return agent.Result{}, err
		}
		within, err := within.of(&in)
		if err != nil {
			return agent.Result{}, err
		}
		err = within.walk(ctx, args.Path, args.Match, func(file foundFile) error {
			in.Progress()
			return s.file(ctx, file)
		})
		if err != nil && !errors.Is(err, errTooMany) && !errors.Is(err, errEnough) {
			return agent.Result{}, err
		}
		return agent.Result{Text: s.result(err)}, nil
	})
}

// search is one look through files.
type search struct {
	pattern *regexp.Regexp
	found   strings.Builder
	matches int
	files   int
	skipped int
	left    int64
}

// errEnough ends a search that has found or read as much as it may.
var errEnough = errors.New("more was not searched: name a folder, or look for something rarer")

func newSearch(args searchFilesArgs) (*search, error) {
	if _, err := path.Match(args.Match, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern of file names: write one such as *.md", args.Match)
	}
	if args.Pattern == "" || len(args.Pattern) > maxPatternBytes {
		return nil, fmt.Errorf("give a pattern of 1 to %d characters", maxPatternBytes)
	}
	pattern := args.Pattern
	if args.Any {
		pattern = "(?i:" + pattern + ")"
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", args.Pattern, err)
	}
	return &search{pattern: compiled, left: maxSearchedBytes}, nil
}

// file looks through a file. What cannot be read is counted.
func (s *search) file(ctx context.Context, found foundFile) error {
	if found.info.Size() > s.left {
		return errEnough
	}
	file, _, err := openRegular(found.root, found.rest, found.name)
	if err != nil {
		s.skipped++
		return nil // it is counted
	}
	defer file.Close()
	s.left -= found.info.Size()
	lines := bufio.NewReaderSize(io.LimitReader(file, maxFileBytes), lineBytes)
	if head, _ := lines.Peek(sniffBytes); bytes.IndexByte(head, 0) >= 0 {
		s.skipped++
		return nil
	}
	s.files++
	return s.lines(ctx, lines, found.name)
}

func (s *search) lines(ctx context.Context, lines *bufio.Reader, name string) error {
	for number := 1; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && s.pattern.Match(bytes.TrimRight(line, "\r\n")) {
			if s.matches++; s.matches > maxMatches {
				return errEnough
			}
			text := strings.ToValidUTF8(strings.TrimSpace(string(line)), "�")
			fmt.Fprintf(&s.found, "%s:%d: %s\n", name, number, chars.Clip(text, lineChars))
		}
		switch {
		case err == nil:
			number++
		case !errors.Is(err, bufio.ErrBufferFull): // else the rest of a long line follows
			return nil // the end, or what cannot be read
		}
	}
}

// result is what the model reads. ended says why the search ended early.
func (s *search) result(ended error) string {
	note := fmt.Sprintf("[%d files searched", s.files)
	if s.skipped > 0 {
		note += fmt.Sprintf(", %d are no text or too large", s.skipped)
	}
	if ended != nil {
		note += "; " + ended.Error()
	}
	if s.found.Len() == 0 {
		return "No line matches. " + note + "]"
	}
	return s.found.String() + note + "]"
}
