package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/extract"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/runner"
)

// readRequest gives the request: the words of the command line, or standard input
// for "-" and where there are none and it is no terminal; then the attachments, quoted, so
// that their text cannot pass for the request or for another file. Standard input is one of
// them where a - stands among the files, or before or behind the words.
func (a *app) readRequest(ctx context.Context, args, files []string) (string, []agent.File, error) {
	if words, found := withoutDash(args); found {
		args, files = words, append([]string{stdin}, files...)
	}
	if inputReads(args, files) > 1 {
		return "", nil, errors.New("standard input can be read only once: give the request as an argument, and - once")
	}
	request, err := a.requestText(args)
	if err != nil {
		return "", nil, err
	}
	var attached []agent.File
	for _, path := range files {
		file, section, err := a.readAttachment(ctx, path)
		if err != nil {
			return "", nil, err
		}
		attached = append(attached, file)
		request += section
	}
	return request, attached, nil
}

// stdin names standard input where a file can be named.
const stdin = "-"

// withoutDash takes away the - that stands before or behind other words.
func withoutDash(args []string) (words []string, found bool) {
	switch last := len(args) - 1; {
	case last < 1:
		return args, false
	case args[last] == stdin:
		return args[:last], true
	default:
		return args[1:], args[0] == stdin
	}
}

// inputReads counts how often standard input is asked for.
func inputReads(args, files []string) int {
	reads := 0
	for _, word := range slices.Concat(args, files) {
		if word == stdin {
			reads++
		}
	}
	if len(args) == 0 {
		reads++
	}
	return reads
}

func (a *app) requestText(args []string) (string, error) {
	request := strings.Join(args, " ")
	if len(args) == 0 || args[0] == stdin {
		if _, _, ok := terminal(a.in); ok && len(args) == 0 {
			return "", errors.New("no request. Give it as an argument: convene run \"Plan three days in Kyoto for two\"; or - for standard input")
		}
		text, err := readText(a.in, "standard input")
		if err != nil {
			return "", err
		}
		request = strings.TrimRight(text, "\r\n")
	}
	if strings.TrimSpace(request) == "" {
		return "", errors.New("the request is empty. Describe what you want the team to do")
	}
	return request, nil
}

// readAttachment reads a file that goes along, and gives what the request says of it.
func (a *app) readAttachment(ctx context.Context, path string) (file agent.File, section string, err error) {
	in, name := a.in, "standard input"
	if path != stdin {
		opened, err := os.Open(path)
		if err != nil {
			return file, "", fmt.Errorf("--file %w", unreadable(path, err))
		}
		defer func() { _ = opened.Close() }()
		in, name = opened, path
	}
	data, err := io.ReadAll(io.LimitReader(in, events.MaxArtifactBytes+1))
	switch {
	case err != nil:
		return file, "", fmt.Errorf("read %s: %w", name, cause(err))
	case len(data) > events.MaxArtifactBytes:
		return file, "", fmt.Errorf("--file %s: %w", name, events.ErrArtifactSize)
	}
	file = a.extractor().File(ctx, name, data)
	if file.Note != "" {
		fmt.Fprintf(a.err, "%s: %s\n", termview.Line(name), termview.Line(file.Note))
	}
	section, err = artifact.Section(&file)
	return file, section, err
}

// extractor reads the files of this process: those that go along with requests, and those that
// tools read.
func (a *app) extractor() *extract.Extractor {
	a.extracts.Do(func() {
		if dir, err := os.UserCacheDir(); err == nil {
			a.extracted.CacheDir = filepath.Join(dir, "convene", "pdf")
		}
	})
	return &a.extracted
}

// nameUnread says that standard input has something which somebody may have meant to be
// read, if it does, and reports whether it said so. Nothing is read of it, because it may be
// meant for others: for the loop around this command, say.
func (a *app) nameUnread() bool {
	file, ok := a.in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	at, err := file.Seek(0, io.SeekCurrent)
	left := err == nil && info.Mode().IsRegular() && at < info.Size()
	if left || info.Mode()&os.ModeNamedPipe != 0 && readable(file.Fd()) {
		fmt.Fprintln(a.err, "standard input was not read: add - to attach it to the request")
		return true
	}
	return false
}

// readText reads text that a model will get, byte for byte.
func readText(r io.Reader, name string) (string, error) {
	// One byte more than so many characters may take, so that too much is seen.
	body, err := io.ReadAll(io.LimitReader(r, utf8.UTFMax*runner.MaxRequestChars+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, cause(err))
	case chars.Over(string(body), runner.MaxRequestChars):
		return "", fmt.Errorf("%s has more than %d characters, the maximum for a request", name, runner.MaxRequestChars)
	case !utf8.Valid(body):
		return "", fmt.Errorf("%s is not valid UTF-8 text", name)
	case strings.ContainsRune(string(body), 0):
		return "", fmt.Errorf("%s contains a NUL character, so it is not text", name)
	}
	return string(body), nil
}
