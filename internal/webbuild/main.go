// Command webbuild builds the dashboard: web/dist, which is embedded, and the
// page's fold by itself, which a test runs beside the folds of Go.
//
//	cd internal/webbuild && go run . ../../web
//
// It needs web/node_modules: `npm ci` in web. It is a module of its own, so that
// the bundler is no dependency of convene.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	src := filepath.Join(web, "src")
	bundles := []api.BuildOptions{
		page(filepath.Join(src, "app.tsx"), filepath.Join(out, "dist", "app.js"), api.ES2022),
		page(filepath.Join(src, "app.css"), filepath.Join(out, "dist", "app.css"), api.ES2022),
	}
	fold := page(filepath.Join(src, "canonical.ts"), filepath.Join(out, "testdata", "fold.js"), api.ES2020)
	fold.GlobalName = "fold"
	fold.MinifySyntax, fold.MinifyWhitespace, fold.MinifyIdentifiers = false, false, false
	for _, options := range append(bundles, fold) {
		if err := run(options); err != nil {
			return err
		}
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		body, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, "dist", name), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func page(entry, outfile string, target api.Target) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints: []string{entry}, Outfile: outfile, Bundle: true, Write: true,
		Format: api.FormatIIFE, Platform: api.PlatformBrowser, Target: target, Charset: api.CharsetUTF8,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true,
		LegalComments: api.LegalCommentsInline, LogLevel: api.LogLevelWarning,
	}
}

func run(options api.BuildOptions) error {
	if options.Outfile[len(options.Outfile)-4:] == ".css" {
		options.Format = api.FormatDefault
	}
	result := api.Build(options)
	if len(result.Errors) > 0 {
		return errors.New(result.Errors[0].Text)
	}
	return nil
}
