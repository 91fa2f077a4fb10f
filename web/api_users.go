package web

import (
	"context"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

type eraseInput struct {
	User string `path:"user_id" maxLength:"255" doc:"The user's id in the caller's tenant."`
}

type eraseOutput struct{ Body Erased }

func (s *Server) registerUsers(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "erase-user", Method: http.MethodDelete, Path: "/api/v1/users/{user_id}",
		Summary: "Erase the threads that a user began, with their files, permanently: refused while one of them is in progress",
	}, func(ctx context.Context, in *eraseInput) (*eraseOutput, error) {
		users, err := s.users()
		if err != nil {
			return nil, s.apiError(err)
		}
		erased, err := users.Erase(ctx, callerOf(ctx).Identity, in.User)
		if err != nil {
			return nil, s.apiError(err)
		}
		return &eraseOutput{erased}, nil
	})
}

func (s *Server) users() (Users, error) {
	if s.config.Users == nil {
		return nil, refuse(http.StatusConflict, "this server only shows runs: `convene serve` starts one that can also export and erase what is of a user")
	}
	return s.config.Users, nil
}

// serveUserExport answers GET /api/v1/users/{user_id}/export with a ZIP archive.
func (s *Server) serveUserExport(w http.ResponseWriter, r *http.Request) {
	users, err := s.users()
	if err != nil {
		s.problem(w, r, err)
		return
	}
	out := &lateHeader{ResponseWriter: w}
	if err = users.Export(r.Context(), callerOf(r.Context()).Identity, r.PathValue("user_id"), out); err == nil {
		return
	}
	if !out.begun {
		s.problem(w, r, err)
		return
	}
	s.config.Logger.Error().Err(err).Msg("export of a user failed")
	panic(http.ErrAbortHandler) // so that nobody takes the part for the whole
}

// lateHeader says what an answer is once there is something of it.
type lateHeader struct {
	http.ResponseWriter
	begun bool
}

func (l *lateHeader) Write(body []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.Header().Set("Content-Type", "application/zip")
		l.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "convene-user.zip"}))
	}
	return l.ResponseWriter.Write(body)
}
