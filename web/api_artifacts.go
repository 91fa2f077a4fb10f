package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/events"
)

// ArtifactView is a file of a run as the API gives it.
type ArtifactView struct {
	events.ArtifactCreated
	// Run is the run of the thread that the file came with, or came into being in.
	Run events.RunID `json:"run_id"`
	// Agent made it, or called the tool that did; empty for a file that came with the request.
	Agent events.AgentID `json:"agent,omitempty"`
	// Seq is that of the event that names it.
	Seq events.Seq `json:"seq"`
}

type artifactsOutput struct {
	Body struct {
		Artifacts []ArtifactView `json:"artifacts" doc:"In the order in which they came. Their bytes are at …/artifacts/{artifact_id}."`
	}
}

func (s *Server) registerArtifacts(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-run-artifacts", Method: http.MethodGet, Path: "/api/v1/runs/{run_id}/artifacts",
		Summary: "The files that came with a run's request and that its agents and tools made",
	}, func(ctx context.Context, in *runInput) (*artifactsOutput, error) {
		view, err := s.view(ctx, in.Run)
		if err != nil {
			return nil, s.apiError(err)
		}
		all, err := ArtifactsOf(ctx, s.config.Log, view.RunSummary)
		if err != nil {
			return nil, s.apiError(err)
		}
		var out artifactsOutput
		out.Body.Artifacts = orEmpty(slices.DeleteFunc(all, func(a ArtifactView) bool { return a.Run != view.Run }))
		return &out, nil
	})
}

// ArtifactsOf are the files of a run's thread, in order, those of earlier runs included.
func ArtifactsOf(ctx context.Context, log events.Reader, run events.RunSummary) ([]ArtifactView, error) {
	envs, err := log.Read(ctx, events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, 0, 0, events.KindArtifactCreated)
	if err != nil {
		return nil, err
	}
	var all []ArtifactView
	for _, env := range envs {
		if created, ok := env.Data.(events.ArtifactCreated); ok && env.Seq <= run.LastSeq {
			all = append(all, ArtifactView{created, env.Run, env.Agent, env.Seq})
		}
	}
	return all, nil
}

// serveArtifact answers GET /api/v1/runs/{run_id}/artifacts/{artifact_id} with the bytes of a
// file, or of the text that was read of one, or with a range of them. Nobody knows who made
// them: a browser shows images and plain text, keeps all else as a file, and runs nothing.
func (s *Server) serveArtifact(w http.ResponseWriter, r *http.Request) {
	view, err := s.view(r.Context(), r.PathValue("run_id"))
	if err != nil {
		s.problem(w, r, err)
		return
	}
	all, err := ArtifactsOf(r.Context(), s.config.Log, view.RunSummary)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	id := events.ArtifactID(r.PathValue("artifact_id"))
	named := slices.IndexFunc(all, func(a ArtifactView) bool { return a.Artifact == id || a.Text == id })
	if named < 0 || id == "" {
		s.problem(w, r, refuse(http.StatusNotFound, "run %s has no artifact %.80q: its artifacts are at /api/v1/runs/%s/artifacts", view.Run, id, view.Run))
		return
	}
	content, err := s.config.Log.OpenArtifact(r.Context(), callerOf(r.Context()).key(view.Thread), id)
	if errors.Is(err, events.ErrNotFound) {
		err = refuse(http.StatusNotFound, "the log names artifact %s, and this store does not have its bytes", id.Short())
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	name, kind := all[named].Name, all[named].MediaType
	if id != all[named].Artifact {
		name, kind = name+".txt", plainText
	}
	kind, disposition := presented(kind)
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": name}))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	header.Set("ETag", `"`+string(id)+`"`)
	http.ServeContent(w, r, "", time.Time{}, content)
}

// plainText is the type of a text as it is sent.
const plainText = "text/plain"

// shownImages are what a browser draws without reading markup, as it would of SVG.
var shownImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// presented is how a file of the type is sent: what a browser may take it for, and whether it
// shows it.
func presented(mediaType string) (kind, disposition string) {
	parsed, _, err := mime.ParseMediaType(mediaType)
	switch {
	case err != nil || !strings.Contains(parsed, "/"):
		return "application/octet-stream", "attachment"
	case parsed == plainText:
		return plainText + "; charset=utf-8", "inline"
	case slices.Contains(shownImages, parsed):
		return parsed, "inline"
	}
	return parsed, "attachment"
}
