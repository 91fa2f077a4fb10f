package web

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
)

// plainStyle is that of pages which are shown without the dashboard: who may not have that
// may not have its style either.
const plainStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}input,button{font:inherit;padding:.25rem .75rem;margin:.25rem 0}h1{font-size:1.25rem}`

var plainPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("plain").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · convene</title>
<style>{{.Style}}</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{if .SignIn}}<form method="post" action="/login">
<input type="hidden" name="next" value="{{.Back}}">
<p><label>Token <input type="password" name="token" required autofocus autocomplete="current-password"></label> <button>Sign in</button></p>
</form>
<p>Whoever runs this server gives you a token, with <code>convene token add</code>.{{range .Issuers}} An access token of {{.}} works as well.{{end}}</p>
<p>If you run it yourself: the link that <code>convene serve</code> prints signs you in, once.</p>
{{else}}<p><a href="/">To the dashboard</a></p>{{end}}
</main>
</body>
</html>
`))
})

// wantsPage reports whether a person asks, with a browser, for something to look at.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.URL.Path == loginAddress) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// errorPage answers an error for a person; one who is not signed in can do so there.
func (s *Server) errorPage(w http.ResponseWriter, r *http.Request, status int, detail string) {
	title, signIn := http.StatusText(status), status == http.StatusUnauthorized
	switch {
	case signIn && r.Method == http.MethodPost:
		title, detail = "Sign in", "This token lets nobody in. Check that it is whole; it may also have ended or been revoked."
	case signIn:
		title, detail = "Sign in", "This browser is not signed in, or no longer."
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "same-origin") // without one a browser sends the form with Origin: null, which is refused
	header.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", digest([]byte(plainStyle))))
	w.WriteHeader(status)
	_ = plainPage().Execute(w, map[string]any{"Title": title, "Text": detail, "SignIn": signIn, "Back": backTo(r), "Issuers": s.config.Issuers, "Style": template.CSS(plainStyle)}) // a caller who is gone needs no answer
}
