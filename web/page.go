package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
)

// dist is the page as `make dashboard` builds it from src.
//
//go:embed dist/index.html dist/app.js dist/app.css dist/icon.svg
var dist embed.FS

// pagePolicy lets the page run its own script and talk to its own server, and
// nothing else: no inline script, no image or link from a model's text loads by
// itself, no markup is made from strings.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// asset is one file of the page, ready to send.
type asset struct {
	body, packed []byte
	kind, tag    string
}

// registerPage adds the page at / and its files beside it.
func registerPage(mux *http.ServeMux) {
	for path, a := range map[string]*asset{
		"/{$}":      loadAsset("index.html", "text/html; charset=utf-8"),
		"/app.js":   loadAsset("app.js", "text/javascript; charset=utf-8"),
		"/app.css":  loadAsset("app.css", "text/css; charset=utf-8"),
		"/icon.svg": loadAsset("icon.svg", "image/svg+xml"),
	} {
		mux.HandleFunc("GET "+path, a.serve)
	}
}

func loadAsset(name, kind string) *asset {
	body := distFile(name)
	sum := sha256.Sum256(body)
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)                                       // a buffer takes everything
	_ = z.Close()
	return &asset{body: body, packed: packed.Bytes(), kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
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
	header.Set("Cache-Control", "no-cache")
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
