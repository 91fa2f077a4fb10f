package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/web"
)

// keep puts bytes as a run's owner does, and names them in an event.
func (s *script) keep(a events.ArtifactCreated, data, text string) events.ArtifactCreated {
	s.t.Helper()
	var err error
	a.Artifact, err = s.log.PutArtifact(s.t.Context(), s.key, s.epoch, []byte(data))
	require.NoError(s.t, err)
	if text != "" {
		a.Text, err = s.log.PutArtifact(s.t.Context(), s.key, s.epoch, []byte(text))
		require.NoError(s.t, err)
	}
	a.SizeBytes = int64(len(data))
	s.add(a)
	return a
}

// The files of a run are listed and given byte for byte, whole or in part; whatever they say
// they are, a browser runs nothing of them.
func TestArtifactsOfARun(t *testing.T) {
	log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "convene.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	s := newScript(t, log)
	s.start("Read the menu")
	long := strings.Repeat("0123456789", 60_000)
	pdf := s.keep(events.ArtifactCreated{Name: "menu.pdf", MediaType: "application/pdf", Source: events.SourceFile, Pages: 2}, "%PDF", "Soups\fFish")
	kept := []struct {
		events.ArtifactCreated
		data, kind, disposition string
	}{
		{pdf, "%PDF", "application/pdf", `attachment; filename=menu.pdf`},
		{s.keep(events.ArtifactCreated{Name: "a.txt", MediaType: "text/plain"}, long, ""), long, "text/plain; charset=utf-8", "inline; filename=a.txt"},
		{s.keep(events.ArtifactCreated{Name: "a.png", MediaType: "image/png"}, "\x89PNG", ""), "\x89PNG", "image/png", "inline; filename=a.png"},
		{s.keep(events.ArtifactCreated{Name: "a.svg", MediaType: "image/svg+xml"}, "<svg onload=boom()>", ""), "<svg onload=boom()>", "image/svg+xml", "attachment; filename=a.svg"},
		{s.keep(events.ArtifactCreated{Name: "a\r\nX: y\".html", MediaType: "text/html"}, "<script>boom()</script>", ""), "<script>boom()</script>", "text/html", "attachment; filename"},
		{s.keep(events.ArtifactCreated{Name: "odd", MediaType: "text/html\r\nX-Evil: 1"}, "<b>", ""), "<b>", "application/octet-stream", "attachment; filename=odd"},
		{s.keep(events.ArtifactCreated{Name: "none", MediaType: ""}, "<i>", ""), "<i>", "application/octet-stream", "attachment; filename=none"},
	}
	other := newScript(t, log)
	other.start("Another")
	secret := other.keep(events.ArtifactCreated{Name: "b.txt", MediaType: "text/plain"}, "of another thread", "")
	server := serve(t, web.Config{Log: log})
	path := "/api/v1/runs/" + string(s.run) + "/artifacts"

	status, _, body := server.get(t, path)
	require.Equal(t, http.StatusOK, status, body)
	var listed struct{ Artifacts []web.ArtifactView }
	require.NoError(t, json.Unmarshal([]byte(body), &listed))
	require.Len(t, listed.Artifacts, len(kept))
	for i, want := range kept {
		require.Equal(t, want.Artifact, listed.Artifacts[i].Artifact)
		require.Equal(t, want.Name, listed.Artifacts[i].Name)
		status, header, body := server.get(t, path+"/"+string(want.Artifact))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, want.data, body)
		require.Equal(t, want.kind, header.Get("Content-Type"))
		require.Contains(t, header.Get("Content-Disposition"), want.disposition)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		require.Contains(t, header.Get("Content-Security-Policy"), "sandbox; default-src 'none'")
		require.Empty(t, header.Get("X-Evil"))
	}
	_, header, body := server.get(t, path+"/"+string(pdf.Text))
	require.Equal(t, "Soups\fFish", body)
	require.Equal(t, "text/plain; charset=utf-8", header.Get("Content-Type"))
	status, header, body = server.get(t, path+"/"+string(kept[1].Artifact), "Range", "bytes=300001-300005")
	require.Equal(t, http.StatusPartialContent, status)
	require.Equal(t, "12345", body)
	require.Equal(t, fmt.Sprintf("bytes 300001-300005/%d", len(long)), header.Get("Content-Range"))

	for id, want := range map[events.ArtifactID]string{
		secret.Artifact: "has no artifact", events.ArtifactOf([]byte("never")): "has no artifact", "..%2F..%2Fetc": "has no artifact", "x": "has no artifact",
	} {
		status, header, body = server.get(t, path+"/"+string(id))
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, problem(t, header, body), want)
	}
	s.add(events.ArtifactCreated{Artifact: events.ArtifactOf([]byte("elsewhere")), Name: "gone.txt", MediaType: "text/plain"})
	status, header, body = server.get(t, path+"/"+string(events.ArtifactOf([]byte("elsewhere"))))
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, problem(t, header, body), "does not have its bytes")
	_, _, body = server.get(t, "/api/v1/runs/"+string(other.run)+"/artifacts")
	require.NotContains(t, body, "menu.pdf")
}
