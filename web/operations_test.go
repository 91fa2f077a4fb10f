package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/web"
)

// described is what the OpenAPI document says of an operation.
type described struct {
	method, path string
	OperationID  string
	Parameters   []parameter
	RequestBody  *struct {
		Content map[string]struct{ Schema property }
	}
}

type parameter struct {
	Name, In string
	Required bool
	Schema   property
}

type property struct {
	Ref              string `json:"$ref"`
	Type             any
	Enum             []any
	Minimum, Maximum *float64
	MinLength        *int
	MaxLength        *int
	Items            *property
	Properties       map[string]property
	Required         []string
}

// is reports whether a value may be of that type.
func (p property) is(kind string) bool {
	kinds, _ := p.Type.([]any)
	return p.Type == any(kind) || slices.Contains(kinds, any(kind))
}

// operations gives what the server describes, with the schemas by name.
func operations(t *testing.T, server *served, header ...string) ([]described, map[string]property) {
	t.Helper()
	status, _, body := server.get(t, "/api/v1/openapi.json", header...)
	require.Equal(t, http.StatusOK, status)
	var doc struct {
		Paths      map[string]map[string]described
		Components struct{ Schemas map[string]property }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &doc))
	var all []described
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			operation.method, operation.path = strings.ToUpper(method), path
			all = append(all, operation)
		}
	}
	require.Greater(t, len(all), 14)
	return all, doc.Components.Schemas
}

// wrong gives values that the schema does not take, as they stand in a URL.
func (p property) wrong() []string {
	if p.Items != nil {
		return p.Items.wrong()
	}
	var values []string
	if p.is("integer") {
		values = []string{"x", "1.5", "-1", "99999999999999999999", "0x10", "1e3", "<script>", "NaN"}
		if p.Maximum != nil {
			values = append(values, fmt.Sprint(*p.Maximum+1))
		}
		if p.Minimum != nil {
			values = append(values, fmt.Sprint(*p.Minimum-1))
		}
	}
	if len(p.Enum) > 0 {
		values = []string{"nonsense", "<script>", "null"}
	}
	if p.MaxLength != nil {
		values = append(values, strings.Repeat("x", *p.MaxLength+1))
	}
	return values
}

// wrongJSON gives members of a body that the schema does not take.
func (p property) wrongJSON() []string {
	values := []string{`[{}]`}
	if !p.is("object") {
		values = append(values, `{"x":[1]}`)
	} else {
		values = append(values, `"x"`, `5`)
	}
	if p.is("string") {
		values = append(values, `5`, `true`)
		if p.MaxLength != nil {
			values = append(values, `"`+strings.Repeat("x", *p.MaxLength+1)+`"`)
		}
		if p.MinLength != nil {
			values = append(values, `""`)
		}
	}
	if p.is("integer") || p.is("boolean") {
		values = append(values, `"x"`, `1.5`)
	}
	if p.Minimum != nil {
		values = append(values, fmt.Sprint(*p.Minimum-1))
	}
	return values
}

// Proves R64: every wrong value of every parameter of every operation that the
// OpenAPI document describes is refused as problem+json with a detail that names the
// parameter; an id that there is not is a 404.
func TestEveryWrongParameterIsRefusedWithWords(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("a run")
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	all, schemas := operations(t, server)
	known := strings.NewReplacer("{run_id}", string(s.run), "{thread_id}", string(s.key.Thread), "{artifact_id}", strings.Repeat("0", 64))
	tried := 0
	refused := func(operation described, name, path, body string, header ...string) {
		t.Helper()
		tried++
		status, h, answer := server.do(t, operation.method, path, body, header...)
		case_ := fmt.Sprintf("%s %.200s %.80s %v", operation.method, path, body, header)
		require.True(t, status >= 400 && status < 500, "%s: %d %.300s", case_, status, answer)
		require.Equal(t, "application/problem+json", h.Get("Content-Type"), case_)
		var p struct {
			Title, Detail string
			Status        int
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &p), case_)
		require.Equal(t, status, p.Status, case_)
		require.NotEmpty(t, p.Title, case_)
		require.Contains(t, p.Detail, name, case_)
	}
	right := map[string]string{"request": `"x"`, "at": `1`, "content": `"x"`, "target": `"x"`, "reason": `"x"`, "summary": `"x"`}
	for _, operation := range all {
		path := known.Replace(operation.path)
		var schema property
		with := func(name, value string) string {
			members := []string{}
			for _, other := range schema.Required {
				if other != name {
					members = append(members, fmt.Sprintf("%q:%s", other, right[other]))
				}
			}
			if value != "" {
				members = append(members, fmt.Sprintf("%q:%s", name, value))
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		body := ""
		if operation.RequestBody != nil {
			schema = operation.RequestBody.Content["application/json"].Schema
			if schema.Ref != "" {
				schema = schemas[schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]]
			}
			require.NotEmpty(t, schema.Properties, operation.path)
			body = with("", "")
		}
		for _, p := range operation.Parameters {
			switch p.In {
			case "path":
				thing, _, _ := strings.Cut(p.Name, "_")
				for _, value := range []string{"none", "%20", "%2e%2e%2fetc", "%00", "%3Cscript%3E", strings.Repeat("x", 5000)} {
					at := strings.ReplaceAll(operation.path, "{"+p.Name+"}", value)
					refused(operation, thing, known.Replace(at), body)
				}
			case "query":
				for _, value := range p.Schema.wrong() {
					refused(operation, p.Name, path+"?"+p.Name+"="+url.QueryEscape(value), body)
				}
			case "header":
				for _, value := range p.Schema.wrong() {
					refused(operation, p.Name, path, body, p.Name, value)
				}
			default:
				require.Fail(t, "a place that this test does not know", p.In)
			}
		}
		if operation.RequestBody == nil {
			continue
		}
		for name, member := range schema.Properties {
			for _, value := range member.wrongJSON() {
				refused(operation, name, path, with(name, value))
			}
			if slices.Contains(schema.Required, name) {
				refused(operation, name, path, with(name, ""))
			}
		}
		refused(operation, "surprise", path, with("surprise", "1"))
		for _, text := range []string{"{", "[]", "5", `"x"`, "\x00", "{}{}", strings.Repeat("[", 100_000)} {
			refused(operation, "", path, text)
		}
		refused(operation, "body", path, `{"reason":"`+strings.Repeat("x", 9<<20)+`"}`)
		refused(operation, "", path, with("", ""), "Content-Type", "text/plain")
		refused(operation, "", path, with("", ""), "Content-Type", "application/x-www-form-urlencoded")
	}
	t.Logf("%d operations, %d wrong requests", len(all), tried)
}

// routes are all that the server answers, as a caller asks for them.
func routes(t *testing.T, server *served, s *script, header ...string) []described {
	t.Helper()
	all, _ := operations(t, server, header...)
	for i := range all {
		all[i].path = strings.NewReplacer("{run_id}", string(s.run), "{thread_id}", string(s.key.Thread)).Replace(all[i].path)
	}
	for _, path := range []string{
		"/", "/icon.svg", "/metrics", "/nothing", "/api/v1/nothing", "/api/v1/openapi.json", "/api/v1/openapi.yaml",
		"/ws?thread_id=" + string(s.key.Thread), "/ws",
	} {
		all = append(all, described{method: http.MethodGet, path: path})
	}
	return all
}

// Proves R71: no route, of those described and those beside them, tells anything to
// who does not know the token, comes from another origin, or by another name.
func TestNoRouteIsOpen(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("private")
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{}), Keeper: access.OneToken("a-very-secret-token")})
	right := []string{"Authorization", "Bearer a-very-secret-token"}
	for _, route := range routes(t, server, s, right...) {
		for _, method := range []string{route.method, http.MethodOptions, http.MethodDelete, http.MethodPost} {
			status, h, body := server.do(t, method, route.path, "{}")
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", method, route.path)
			require.JSONEq(t, `{"title":"Unauthorized","status":401,"detail":"not authorized"}`, body)
			require.Empty(t, h.Values("Set-Cookie"))
			for _, foreign := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Host", "evil.example"}} {
				status, h, body := server.do(t, method, route.path, "{}", append(foreign, right...)...)
				require.Equal(t, http.StatusForbidden, status, "%s %s %v", method, route.path, foreign)
				problem(t, h, body)
				require.NotContains(t, body, "private")
				require.Empty(t, h.Get("Access-Control-Allow-Origin"))
			}
		}
	}
}

// Proves R64: a method that an address does not have is a 405 that says which it has.
func TestOtherMethods(t *testing.T) {
	log := events.NewMemory()
	s := newScript(t, log)
	s.start("a run")
	server := serve(t, web.Config{Log: log, Runs: newSimRuns(t, log, sim.Options{})})
	methods := map[string][]string{"/healthz": {"GET", "HEAD"}, "/login": {"GET", "HEAD", "POST"}, "/logout": {"POST"}}
	for _, route := range routes(t, server, s) {
		if strings.HasSuffix(route.path, "nothing") {
			continue
		}
		methods[route.path] = append(methods[route.path], route.method)
		if route.method == http.MethodGet {
			methods[route.path] = append(methods[route.path], http.MethodHead)
		}
	}
	for path, allowed := range methods {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(allowed, method) {
				continue
			}
			status, h, body := server.do(t, method, path, "")
			require.Equal(t, http.StatusMethodNotAllowed, status, "%s %s", method, path)
			given := strings.Split(h.Get("Allow"), ", ")
			require.ElementsMatch(t, allowed, given, "%s %s", method, path)
			if method != http.MethodHead {
				problem(t, h, body)
			}
		}
	}
	for _, path := range []string{"/", "/icon.svg", "/healthz", "/api/v1/runs", "/api/v1/runs/" + string(s.run), "/api/v1/runs/" + string(s.run) + "/export"} {
		status, _, body := server.do(t, http.MethodHead, path, "")
		require.Equal(t, http.StatusOK, status, path)
		require.Empty(t, body)
	}
}
