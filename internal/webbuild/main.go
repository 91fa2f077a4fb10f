// Command webbuild builds the dashboard: web/dist, which is embedded, and the
// page's fold by itself, which a test runs beside the folds of Go.
//
//	cd internal/webbuild && go run . ../../web
//
// It needs web/node_modules: `npm ci` in web. It is a module of its own, so that
// the bundler is no dependency of convene.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: webbuild WEB [OUT]")
		os.Exit(2)
	}
	out := os.Args[1]
	if len(os.Args) == 3 {
		out = os.Args[2]
	}
	if err := build(os.Args[1], out); err != nil {
		fmt.Fprintln(os.Stderr, "webbuild:", err)
		os.Exit(1)
	}
}

// build bundles the sources of web/src into out/dist and out/testdata.
func build(web, out string) error {
	if _, err := os.Stat(filepath.Join(web, "node_modules")); err != nil {
		return fmt.Errorf("%w: run `npm ci` in web first", err)
	}
	src, dist := filepath.Join(web, "src"), filepath.Join(out, "dist")
	if err := clear(dist); err != nil {
		return err
	}
	script := filepath.Join(src, "app.tsx")
	parts, err := run(split(script, dist))
	if err != nil {
		return err
	}
	// file.js is all of it in one, for a page that is one file.
	whole := bundle(script, filepath.Join(dist, "file.js"), api.ES2022)
	style := bundle(filepath.Join(src, "app.css"), filepath.Join(dist, "app.css"), api.ES2022)
	style.Format = api.FormatDefault
	fold := bundle(filepath.Join(src, "canonical.ts"), filepath.Join(out, "testdata", "fold.js"), api.ES2020)
	fold.GlobalName = "fold"
	fold.MinifySyntax, fold.MinifyWhitespace, fold.MinifyIdentifiers = false, false, false
	for _, options := range []api.BuildOptions{whole, style, fold} {
		if _, err := run(options); err != nil {
			return err
		}
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, "icon.svg"), icon, 0o644); err != nil {
		return err
	}
	return index(filepath.Join(src, "index.html"), dist, parts)
}

// clear removes what was built before: the names of parts change with what they contain.
func clear(dist string) error {
	old, err := filepath.Glob(filepath.Join(dist, "*.js"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// index writes the page, which asks at once for the script and for what that imports.
func index(template, dist string, parts metafile) error {
	body, err := os.ReadFile(template)
	if err != nil {
		return err
	}
	var tags strings.Builder
	for _, part := range parts.begin("app.js") {
		fmt.Fprintf(&tags, "<link rel=\"modulepreload\" href=\"/%s\">\n", part)
	}
	tags.WriteString(`<script type="module" src="/app.js"></script>`)
	body = bytes.Replace(body, []byte("<!-- script -->"), []byte(tags.String()), 1)
	return os.WriteFile(filepath.Join(dist, "index.html"), body, 0o644)
}

// metafile is what the bundler tells of its outputs.
type metafile struct {
	Outputs map[string]struct {
		Imports []struct {
			Path string
			Kind string
		}
	}
}

// begin gives the parts that a script cannot begin without.
func (m metafile) begin(name string) []string {
	var parts []string
	for path, output := range m.Outputs {
		if filepath.Base(path) != name {
			continue
		}
		for _, imported := range output.Imports {
			if imported.Kind == "import-statement" {
				parts = append(parts, filepath.Base(imported.Path))
			}
		}
	}
	return parts
}

func bundle(entry, outfile string, target api.Target) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: []string{entry}, Outfile: outfile, Bundle: true, Write: true,
		Format: api.FormatIIFE, Platform: api.PlatformBrowser, Target: target, Charset: api.CharsetUTF8,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true,
		LegalComments: api.LegalCommentsInline, LogLevel: api.LogLevelWarning,
	}
}

// split builds a script in parts, each loaded when it is needed.
func split(entry, dir string) api.BuildOptions {
	options := bundle(entry, "", api.ES2022)
	options.Outdir, options.Format, options.Splitting, options.Metafile = dir, api.FormatESModule, true, true
	options.ChunkNames = "[name]-[hash]"
	return options
}

func run(options api.BuildOptions) (metafile, error) {
	var parts metafile
	result := api.Build(options)
	if len(result.Errors) > 0 {
		return parts, errors.New(result.Errors[0].Text)
	}
	if options.Metafile {
		return parts, json.Unmarshal([]byte(result.Metafile), &parts)
	}
	return parts, nil
}
