package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
)

// dist is the page as `make dashboard` builds it from src.
//
//go:embed dist
var dist embed.FS

// wholeScript is all of the page's script in one, for exports. The page itself loads the
// parts of it that it needs.
const wholeScript = "file.js"

// wholeStyle is the page's style. listStyle is what a list needs of it, all that comes between
// a list and the screen: there the page loads the whole once the list can be read.
var wholeStyle, listStyle = bytes.TrimSpace(distFile("app.css")), bytes.TrimSpace(distFile("first.css"))

// pagePolicy lets the page run its own script and talk to its own server, and
// nothing else: no inline script but those of the page itself, known by their
// hashes; no image or link from a model's text loads by itself, no markup is made from
// strings.
var pagePolicy = "default-src 'none'; script-src 'self'" + inPage("script") + "; style-src" + hashOf(wholeStyle) + hashOf(listStyle) + " 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// inPage names what stands in the page itself between such tags, by its hashes.
func inPage(tag string) (sources string) {
	for rest := distFile("index.html"); ; {
		_, found, more := bytes.Cut(rest, []byte("<"+tag+">"))
		if !more {
			return sources
		}
		found, rest, _ = bytes.Cut(found, []byte("</"+tag+">"))
		sources += hashOf(found)
	}
}

func hashOf(found []byte) string { return " 'sha256-" + digest(found) + "'" }

// asset is one file of the page, ready to send.
type asset struct {
	body, packed     []byte
	kind, tag, cache string
}

const (
	// recheck has a browser ask each time whether what it has is the newest; keep says
	// that a name stands for its contents, so that they never change.
	recheck = "no-cache"
	keep    = "private, max-age=31536000, immutable"
)

// registerPage adds the page at the addresses of what it shows, and its files beside it.
func (s *Server) registerPage(mux router) {
	style := slices.Concat([]byte("<style>"), wholeStyle, []byte("</style>"))
	for _, address := range []string{"/runs", "/threads", "/threads/{id}", "/batches", "/batches/{id}", "/compare"} {
		mux.page(address, s.servePage(noFrame, style))
	}
	mux.page("/{$}", s.servePage(s.listFrame, slices.Concat([]byte(`<style id="first-style">`), listStyle, []byte("</style>"))))
	mux.page("/runs/{run_id}", s.servePage(s.runFrame, style))
	// Browsers ask for this where a page names no icon, and the page does so once it can be read.
	mux.page("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	assets := map[string]*asset{
		"/icon.svg": loadAsset("icon.svg", "image/svg+xml", recheck),
	}
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	parts := map[string]string{}
	_ = json.Unmarshal(distFile("parts.json"), &parts) // the build wrote it
	for asked, file := range parts {
		assets["/"+asked] = loadAsset(file, kinds[path.Ext(file)], keep)
	}
	for address, a := range assets {
		mux.page(address, a.serve)
	}
}

func loadAsset(name, kind, cache string) *asset {
	body := distFile(name)
	sum := sha256.Sum256(body)
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)                                       // a buffer takes everything
	_ = z.Close()
	return &asset{body: body, packed: packed.Bytes(), kind: kind, cache: cache, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

// distFile gives an embedded file; that all are there is known when the program is
// built.
func distFile(name string) []byte {
	body, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic(err)
	}
	return body
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", a.kind)
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Cache-Control", a.cache)
	header.Set("Vary", "Accept-Encoding")
	header.Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	_, _ = w.Write(body) // a caller who is gone needs no answer
}
