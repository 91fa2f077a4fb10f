package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"iter"
	"mime"
	"net/http"
	"sync"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
)

// exportTemplate is the page in one file. The policy lets it run its own script and
// style, known by their hashes, reach nothing at all, and make no markup of strings.
var exportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("export").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{{.ScriptHash}}'; style-src 'sha256-{{.StyleHash}}'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript.</noscript>
<script type="application/x-ndjson" id="log">
`))
})

// WriteHTML writes a run as one HTML file that opens from disk and reaches no
// network: the page and the events of the run's thread. bodies are events in the
// form of [events.Encode], in order. Of what is kept for an endpoint the page has a sign. restore
// has it show what placeholders stand for: whoever calls has checked that the reader may see it.
func WriteHTML(w io.Writer, run events.RunSummary, bodies iter.Seq2[[]byte, error], restore bool) error {
	form := events.ForViewers
	if restore {
		form = events.ForRestoring
	}
	script, style := distFile(wholeScript), distFile("app.css")
	// These would end the element that holds the script, or begin another in it. They
	// stand in strings and expressions alone, where they may be written so.
	for _, tag := range []string{"</script", "<script", "<!--"} {
		script = bytes.ReplaceAll(script, []byte(tag), []byte(`\x3c`+tag[1:]))
	}
	err := exportTemplate().Execute(w, map[string]any{
		"Title": fmt.Sprintf("convene: %.80s", run.Request), "ScriptHash": digest(script), "StyleHash": digest(style),
		"Style": template.CSS(style), // our own
	})
	if err != nil {
		return fmt.Errorf("write export of run %s: %w", run.Run, err)
	}
	for body, err := range each(bodies, form) {
		if err != nil {
			return fmt.Errorf("export run %s: %w", run.Run, err)
		}
		// In JSON "<" stands only inside strings, where it may be written so: then no
		// text can end the script element.
		body = bytes.ReplaceAll(body, []byte("<"), []byte(`\u003c`))
		if _, err := w.Write(append(body, '\n')); err != nil {
			return fmt.Errorf("write export of run %s: %w", run.Run, err)
		}
	}
	_, err = fmt.Fprintf(w, "</script>\n<script>%s</script>\n</body>\n</html>\n", script)
	return err
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// serveExport answers GET /api/v1/runs/{run_id}/export?format=html|jsonl&restore=true|false.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) {
	view, err := s.view(r.Context(), r.PathValue("run_id"))
	if err != nil {
		s.problem(w, r, err)
		return
	}
	restore, err := s.mayRestore(r)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	key := callerOf(r.Context()).key(view.Thread)
	bodies := Encoded(r.Context(), s.config.Log, key, view.LastSeq)
	if !callerOf(r.Context()).Allow(access.AuditRead) {
		bodies = each(bodies, events.WithoutActor)
	}
	name, kind := "convene-"+string(view.Run), "application/x-ndjson"
	write := func() error { return writeJSONL(w, bodies, restore) }
	switch format := r.URL.Query().Get("format"); format {
	case "jsonl", "":
		name += ".jsonl"
	case "html":
		name, kind = name+".html", "text/html; charset=utf-8"
		write = func() error { return WriteHTML(w, view.RunSummary, bodies, restore) }
	default:
		s.problem(w, r, refuse(http.StatusBadRequest, "format=%.40q is not known: html or jsonl", format))
		return
	}
	s.exported(r, view.Run)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	if err := write(); err != nil && !errors.Is(err, r.Context().Err()) {
		s.config.Logger.Error().Err(err).Str("run", string(view.Run)).Msg("export failed")
		panic(http.ErrAbortHandler) // so that nobody takes the part for the whole
	}
}
