package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
)

// dist is the page as `make dashboard` builds it from src.
//
//go:embed dist
var dist embed.FS

// wholeScript is all of the page's script in one, for exports. The page itself loads the
// parts of it that it needs.
const wholeScript = "file.js"

// pagePolicy lets the page run its own script and talk to its own server, and
// nothing else: no inline script but those of the page itself, known by their
// hashes; no image or link from a model's text loads by itself, no markup is made from
// strings.
var pagePolicy = "default-src 'none'; script-src 'self'" + inPage("script") + "; style-src" + inPage("style") + "; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// inPage names what stands in the page itself between such tags, by its hashes.
func inPage(tag string) (sources string) {
	for rest := distFile("index.html"); ; {
		_, found, more := bytes.Cut(rest, []byte("<"+tag+">"))
		if !more {
			return sources
		}
		found, rest, _ = bytes.Cut(found, []byte("</"+tag+">"))
		sources += " 'sha256-" + digest(found) + "'"
	}
}

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
	for _, path := range []string{"/runs", "/threads", "/threads/{id}", "/batches", "/batches/{id}", "/compare"} {
		mux.page(path, s.servePage(noFrame))
	}
	mux.page("/{$}", s.servePage(s.listFrame))
	mux.page("/runs/{run_id}", s.servePage(s.runFrame))
	// Browsers ask for this where a page names no icon, and the page does so once it can be read.
	mux.page("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	const script = "text/javascript; charset=utf-8"
	assets := map[string]*asset{
		"/icon.svg": loadAsset("icon.svg", "image/svg+xml", recheck),
	}
	parts := map[string]string{}
	_ = json.Unmarshal(distFile("parts.json"), &parts) // the build wrote it
	for asked, file := range parts {
		assets["/"+asked] = loadAsset(file, script, keep)
	}
	for path, a := range assets {
		mux.page(path, a.serve)
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
