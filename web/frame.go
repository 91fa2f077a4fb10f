package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
)

// A frame is what the page shows first, drawn by the server: a browser has it on the screen
// before any script is there. The page's script then takes the same elements over, so their
// names and order are those of web/src, and the texts too: TestFrames compares them. What
// people reach for stands where the script will have it.

//go:embed frames/*.html
var frameFiles embed.FS

// frames are parsed when a page is first asked for: most commands serve none.
var frames = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(frameFiles, "frames/*.html"))
})

// framer tells what the first contents of a page are, and the template that draws them; nil
// leaves it to the script, which also finds the words for what is refused.
type framer func(r *http.Request) (name string, contents any)

// noFrame is for pages that the script draws alone.
func noFrame(*http.Request) (string, any) { return "", nil }

// frameMark is where the contents of the page stand in it, styleMark where its style does, rootMark
// where its colours are chosen.
var (
	frameMark = []byte(`<div id="app">`)
	styleMark = []byte("<!-- style -->")
	rootMark  = []byte(`<html lang="en">`)
)

// themeOf gives the colours that the reader chose, as web/src/theme.ts keeps them in a cookie:
// light, dark or system.
func themeOf(r *http.Request) string {
	cookie, err := r.Cookie("convene-theme")
	if err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return "system"
}

// packers compress pages; making one takes longer than a page does.
var packers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

// servePage answers with the page. It tells of the caller's runs, so nothing keeps it.
func (s *Server) servePage(framed framer, style []byte) http.HandlerFunc {
	before, after, _ := bytes.Cut(bytes.Replace(distFile("index.html"), styleMark, style, 1), frameMark)
	root, head, _ := bytes.Cut(before, rootMark)
	return func(w http.ResponseWriter, r *http.Request) {
		var page bytes.Buffer
		page.Write(root)
		fmt.Fprintf(&page, "<html lang=\"en\"%s>", map[string]string{"light": ` data-theme="light"`, "dark": ` data-theme="dark"`}[themeOf(r)])
		page.Write(head)
		page.Write(frameMark)
		if name, contents := framed(r); contents != nil {
			begun := page.Len()
			if err := frames().ExecuteTemplate(&page, name, contents); err != nil {
				page.Truncate(begun)
				s.config.Logger.Error().Err(err).Str("frame", name).Msg("the page was served without its first contents")
			}
		}
		page.Write(after)
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", pagePolicy)
		header.Set("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			_, _ = w.Write(page.Bytes()) // a caller who is gone needs no answer
			return
		}
		header.Set("Content-Encoding", "gzip")
		z := packers.Get().(*gzip.Writer)
		z.Reset(w)
		_, _ = z.Write(page.Bytes())
		_ = z.Close()
		packers.Put(z)
	}
}
