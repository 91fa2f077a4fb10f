package steer_test

import (
	"archive/zip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/steer"
)

// Proves R60: the administrator of a tenant takes out and erases what is of one of its users, nobody else
// does, and it stands in the tenant's audit without a word of the user's.
func TestUsersAreExportedAndErased(t *testing.T) {
	d := newDoors(t, steer.Config{}, sim.Options{})
	people := settled(t, d)
	ann, bob, cat := people[0], people[1], people[2]
	admin, stranger := d.token(t, "acme", "", access.RoleAdmin), d.token(t, "globex", "", access.RoleAdmin)
	for _, token := range []string{ann.token, d.token(t, "acme", "", access.RoleOperator), d.token(t, "acme", "", access.RoleAuditor)} {
		for method, path := range map[string]string{http.MethodGet: "/api/v1/users/ann/export", http.MethodDelete: "/api/v1/users/ann"} {
			status, _, _ := d.call(t, token, method, path, "")
			require.Equal(t, http.StatusForbidden, status, path)
		}
	}
	for method, path := range map[string]string{http.MethodGet: "/api/v1/users/ann/export", http.MethodDelete: "/api/v1/users/ann"} {
		status, _, text := d.call(t, stranger, method, path, "")
		require.Equal(t, http.StatusNotFound, status, path)
		require.Contains(t, text, "no thread of this tenant is of that user")
	}

	status, header, text := d.call(t, admin, http.MethodGet, "/api/v1/users/ann/export", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "application/zip", header.Get("Content-Type"))
	archive, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	require.Len(t, archive.File, 3)
	for _, file := range archive.File[:2] {
		content, err := file.Open()
		require.NoError(t, err)
		all, err := io.ReadAll(content)
		require.NoError(t, err)
		require.Contains(t, string(all), ann.mark)
		require.NotContains(t, string(all), bob.mark)
	}

	key := events.ThreadKey{Tenant: "acme", Thread: events.ThreadID(ann.threads[1])}
	epoch, err := d.log.Claim(t.Context(), key, "another process", false)
	require.NoError(t, err)
	status, _, text = d.call(t, admin, http.MethodDelete, "/api/v1/users/ann", "")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "driven by another process")
	require.NoError(t, d.log.Release(t.Context(), key, epoch))
	status, _, text = d.call(t, admin, http.MethodDelete, "/api/v1/users/ann", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"threads":2,"runs":2}`, text)
	status, _, _ = d.call(t, admin, http.MethodDelete, "/api/v1/users/ann", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _, _ = d.call(t, ann.token, http.MethodGet, "/api/v1/runs/"+ann.runs[0], "")
	require.Equal(t, http.StatusNotFound, status)
	for _, other := range []*person{bob, cat} {
		status, _, _ = d.call(t, other.token, http.MethodGet, "/api/v1/runs/"+other.runs[0], "")
		require.Equal(t, http.StatusOK, status)
	}

	page, err := audit.Read(t.Context(), d.log, audit.Query{Tenant: "acme"})
	require.NoError(t, err)
	var done []string
	for _, entry := range page.Entries {
		require.NotContains(t, entry.What+entry.Why, "secret of")
		if entry.Thread == "" && !entry.Refused() {
			done = append(done, entry.Action+" "+entry.What)
		}
	}
	require.Equal(t, []string{"erased 2 threads, 2 runs, user ann", "exported 2 threads, 0 files, user ann"}, done)
}

// What was erased is wiped behind it; where nothing was, nothing is rewritten.
func TestEraseWipes(t *testing.T) {
	log := events.NewMemory()
	wiped := 0
	users := &steer.Users{Log: log, Wipe: func(context.Context) error { wiped++; return nil }}
	key := events.ThreadKey{Tenant: "acme", Thread: "t"}
	epoch, err := log.Claim(t.Context(), key, "tester", false)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), key, epoch, 0, []events.Envelope{{Run: "r", Data: events.WorkflowStarted{UserID: "ann"}}}))
	require.NoError(t, log.Release(t.Context(), key, epoch))
	_, err = users.Erase(t.Context(), access.Operator("acme"), "bob")
	require.Error(t, err)
	require.Zero(t, wiped)
	gone, cancel := context.WithCancel(t.Context())
	cancel() // the caller does not wait
	_, err = users.Erase(gone, access.Operator("acme"), "ann")
	require.NoError(t, err)
	require.Equal(t, 1, wiped)
}
