package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// asciiOnly reports whether the locale names a character set other than UTF-8. Where it names
// none, as in most containers, UTF-8 is what terminals show.
func asciiOnly(env func(string) string) bool {
	locale := cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG"))
	if locale == "C" || locale == "POSIX" {
		return true
	}
	locale, _, _ = strings.Cut(locale, "@")
	_, charset, named := strings.Cut(locale, ".")
	return named && !strings.EqualFold(strings.ReplaceAll(charset, "-", ""), "utf8")
}

// asciiFile is a file for people that gets ASCII alone. A character must not be torn between
// two writes.
type asciiFile struct{ file *os.File }

func (f asciiFile) Write(text []byte) (int, error) {
	if _, err := f.file.WriteString(termview.ASCII(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Fd has the file known for a terminal where it is one.
func (f asciiFile) Fd() uintptr { return f.file.Fd() }

// forPeople keeps what the locale cannot show from the terminal, and from what goes with the
// standard error. Results in files and pipes are left alone.
func (a *app) forPeople() {
	if !asciiOnly(a.env) {
		return
	}
	if file, is := a.err.(*os.File); is {
		a.err = asciiFile{file}
	}
	file, is := a.out.(*os.File)
	if _, _, ok := terminal(a.out); is && ok {
		a.out = asciiFile{file}
	}
}

// unaltered is the way past [app.forPeople], for what programs read.
func unaltered(w io.Writer) io.Writer {
	if file, is := w.(asciiFile); is {
		return file.file
	}
	return w
}
