package web_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/web"
)

// The OpenAPI document types the data of every kind of event, says who may come in, and
// refers to nothing that it lacks.
func TestOpenAPI(t *testing.T) {
	server := serve(t, web.Config{Log: events.NewMemory(), Keeper: access.OneToken("a-very-secret-token")})
	status, header, body := server.get(t, "/api/v1/openapi.json", "Authorization", "Bearer a-very-secret-token")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	type schema struct {
		Enum          []any
		OneOf         []map[string]string
		Discriminator struct {
			PropertyName string
			Mapping      map[string]string
		}
		Properties map[string]struct {
			Ref  string `json:"$ref"`
			Enum []any
		}
	}
	var doc struct {
		Servers    []struct{ URL string }
		Security   []map[string][]string
		Components struct {
			Schemas         map[string]schema
			SecuritySchemes map[string]struct{ Type string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	require.Equal(t, "/", doc.Servers[0].URL)
	require.Equal(t, []map[string][]string{{"token": {}}, {"session": {}}}, doc.Security)
	require.Equal(t, "http", doc.Components.SecuritySchemes["token"].Type)

	event := doc.Components.Schemas["Event"]
	require.Equal(t, "type", event.Discriminator.PropertyName)
	require.Len(t, event.OneOf, len(events.Kinds()))
	for _, kind := range events.Kinds() {
		require.Equal(t, "#/components/schemas/event_"+string(kind), event.Discriminator.Mapping[string(kind)])
		envelope := doc.Components.Schemas["event_"+string(kind)]
		require.Equal(t, []any{string(kind)}, envelope.Properties["type"].Enum)
		require.Equal(t, "#/components/schemas/event_data_"+string(kind), envelope.Properties["data"].Ref)
	}
	require.Contains(t, doc.Components.Schemas["RunView"].Properties["status"].Enum, "awaiting_input")
	for _, match := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(body, -1) {
		require.Contains(t, doc.Components.Schemas, match[1])
	}
}

// Who sends text that is none is told so (RFC 6455, 8.1).
func TestSocketRefusesBadText(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("bad text")
	server := serve(t, web.Config{Log: log})
	conn := server.dial(t, s.key.Thread, 0)
	require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte("caf\xe9")))
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			require.True(t, websocket.IsCloseError(err, websocket.CloseInvalidFramePayloadData), "%v", err)
			return
		}
	}
}

// A server on all addresses names one that a browser can open, and answers there.
func TestLoginURLOfAllAddresses(t *testing.T) {
	for _, address := range []string{"0.0.0.0:8484", "[::]:8484", ":8484"} {
		server, err := web.New(web.Config{Log: events.NewMemory(), Address: address, Keeper: access.OneToken("a-very-secret-token")})
		require.NoError(t, err)
		url, err := server.LoginURL()
		require.NoError(t, err)
		require.NotRegexp(t, `http://(0\.0\.0\.0|\[::\])?:`, url)
		require.Regexp(t, `^http://[0-9a-f.:\[\]]+:8484/login\?code=`, url)
	}
}
