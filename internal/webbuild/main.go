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
	script := filepath.Join(src, "app.tsx")
	// file.js is all of it in one, for a page that is one file.
	whole := bundle(script, filepath.Join(dist, "file.js"), api.ES2022)
	whole.Plugins = []api.Plugin{alone("highlight")}
	style, firstStyle := styled(src, dist, "app.css"), styled(src, dist, "first.css")
	fold := bundle(filepath.Join(src, "canonical.ts"), filepath.Join(out, "testdata", "fold.js"), api.ES2020)
	fold.GlobalName = "fold"
	fold.MinifySyntax, fold.MinifyWhitespace, fold.MinifyIdentifiers = false, false, false
	for _, options := range []api.BuildOptions{whole, style, firstStyle, fold} {
		if err := failure(api.Build(options).Errors); err != nil {
			return err
		}
	}
	if err := writePage(src, dist); err != nil {
		return err
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "icon.svg"), icon, 0o644)
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

func styled(src, dist, name string) api.BuildOptions {
	options := bundle(filepath.Join(src, name), filepath.Join(dist, name), api.ES2022)
	options.Format = api.FormatDefault
	return options
}

// alone bundles a module by itself before what loads it: what its libraries need of the
// bundler would become a part that all others load, too.
func alone(name string) api.Plugin {
	return api.Plugin{Name: "alone", Setup: func(build api.PluginBuild) {
		build.OnLoad(api.OnLoadOptions{Filter: "/" + name + `\.ts$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			options := bundle(args.Path, "", api.ES2022)
			options.Format, options.Write = api.FormatESModule, false
			result := api.Build(options)
			if err := failure(result.Errors); err != nil {
				return api.OnLoadResult{}, err
			}
			contents := string(result.OutputFiles[0].Contents)
			return api.OnLoadResult{Contents: &contents, Loader: api.LoaderJS}, nil
		})
	}}
}

// failure is what the bundler says against a source.
func failure(said []api.Message) error {
	switch {
	case len(said) == 0:
		return nil
	case strings.HasPrefix(said[0].Text, "Could not resolve"):
		return fmt.Errorf("%s: does `npm ci` in web bring it?", said[0].Text)
	}
	return errors.New(said[0].Text)
}
