package web

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// plainStyle is that of pages which are shown without the dashboard: who may not have that
// may not have its style either.
const plainStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}input,button{font:inherit;padding:.25rem .75rem}h1{font-size:1.25rem}`

var plainPage = template.Must(template.New("plain").Parse(`<!doctype html>
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
<p><label>Token <input type="password" name="token" required autofocus autocomplete="current-password"></label> <button>Sign in</button></p>
</form>
<p>The token is in the file that convene serve was started with (--token-file). Starting the server again prints a link that works without it.</p>
{{else}}<p><a href="/">To the dashboard</a></p>{{end}}
</main>
</body>
</html>
`))

// wantsPage reports whether a person asks, with a browser, for something to look at.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.URL.Path == loginAddress) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// errorPage answers an error for a person; one who is not signed in can do so there.
func errorPage(w http.ResponseWriter, status int, detail string) {
	title, signIn := http.StatusText(status), status == http.StatusUnauthorized
	if signIn {
		title, detail = "Sign in", "This browser is not signed in, or no longer."
	}
	writePlain(w, status, title, detail, signIn)
}

func writePlain(w http.ResponseWriter, status int, title, text string, signIn bool) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", digest([]byte(plainStyle))))
	w.WriteHeader(status)
	_ = plainPage.Execute(w, map[string]any{"Title": title, "Text": text, "SignIn": signIn, "Style": template.CSS(plainStyle)}) // a caller who is gone needs no answer
}
