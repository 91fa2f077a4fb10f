package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/quote"
	"github.com/convene-run/convene/runner"
)

// readRequest gives the request: the words of the command line, or standard input
// for "-" and where there are none and it is no terminal; then the files, quoted, so
// that their text cannot pass for the request or for another file.
func (a *app) readRequest(args, files []string) (string, error) {
	request := strings.Join(args, " ")
	if len(args) == 1 && args[0] == "-" || len(args) == 0 {
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
	for _, path := range files {
		text, err := readTextFile(path)
		if err != nil {
			return "", err
		}
		request += fmt.Sprintf("\n\n## File: %s\n\n%s", quote.OneLine(path), quote.Lines(text))
	}
	return request, nil
}

func readTextFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("--file: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readText(file, path)
}

// readText reads text that a model will get, byte for byte.
func readText(r io.Reader, name string) (string, error) {
	// One byte more than so many characters may take, so that too much is seen.
	body, err := io.ReadAll(io.LimitReader(r, utf8.UTFMax*runner.MaxRequestChars+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case chars.Over(string(body), runner.MaxRequestChars):
		return "", fmt.Errorf("%s has more than %d characters, the maximum for a request", name, runner.MaxRequestChars)
	case !utf8.Valid(body):
		return "", fmt.Errorf("%s is not valid UTF-8 text", name)
	case strings.ContainsRune(string(body), 0):
		return "", fmt.Errorf("%s contains a NUL character, so it is not text", name)
	}
	return string(body), nil
}
