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
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	index, err := os.ReadFile(filepath.Join(src, "index.html"))
	if err != nil {
		return err
	}
	if err := parts(split(script, dist), index, dist); err != nil {
		return err
	}
	// file.js is all of it in one, for a page that is one file.
	whole := bundle(script, filepath.Join(dist, "file.js"), api.ES2022)
	whole.Plugins = []api.Plugin{alone("highlight")}
	style := bundle(filepath.Join(src, "app.css"), filepath.Join(dist, "app.css"), api.ES2022)
	style.Format = api.FormatDefault
	fold := bundle(filepath.Join(src, "canonical.ts"), filepath.Join(out, "testdata", "fold.js"), api.ES2020)
	fold.GlobalName = "fold"
	fold.MinifySyntax, fold.MinifyWhitespace, fold.MinifyIdentifiers = false, false, false
	for _, options := range []api.BuildOptions{whole, style, fold} {
		if err := failure(api.Build(options).Errors); err != nil {
			return err
		}
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "icon.svg"), icon, 0o644)
}

// parts writes a script in parts, and the page, which asks at once for the script and for what
// it cannot begin without. The names by which parts ask for each other stand for what they
// contain. The files keep their names; parts.json tells which is which.
func parts(options api.BuildOptions, index []byte, dist string) error {
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return err
	}
	var about metafile
	if err := json.Unmarshal([]byte(result.Metafile), &about); err != nil {
		return err
	}
	files := map[string]string{}
	for _, output := range result.OutputFiles {
		asked := filepath.Base(output.Path)
		name := hashed.ReplaceAllString(asked, ".js")
		if slices.Contains(slices.Collect(maps.Values(files)), name) {
			return fmt.Errorf("two parts are called %s: give them names of their own", name)
		}
		if name != asked {
			files[asked] = name
		}
		if err := os.WriteFile(filepath.Join(dist, name), output.Contents, 0o644); err != nil {
			return err
		}
	}
	first, err := firstScript(filepath.Join(filepath.Dir(options.EntryPoints[0]), "first.ts"), files)
	if err != nil {
		return err
	}
	index = bytes.Replace(index, []byte("<!-- first -->"), slices.Concat([]byte("<script>"), first, []byte("</script>")), 1)
	var tags strings.Builder
	for _, part := range about.begin("app.js") {
		fmt.Fprintf(&tags, "<link rel=\"modulepreload\" href=\"/%s\">\n", part)
	}
	tags.WriteString(`<script type="module" src="/app.js"></script>`)
	index = bytes.Replace(index, []byte("<!-- script -->"), []byte(tags.String()), 1)
	if err := os.WriteFile(filepath.Join(dist, "index.html"), index, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(files, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "parts.json"), append(text, '\n'), 0o644)
}

// firstScript is what stands in the page itself; files are the parts by the names under
// which they are asked for.
func firstScript(source string, files map[string]string) ([]byte, error) {
	options := bundle(source, "", api.ES2022)
	options.Write = false
	for asked, file := range files {
		if file == "views.js" {
			options.Define = map[string]string{"viewsPart": `"/` + asked + `"`}
		}
	}
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(result.OutputFiles[0].Contents), nil
}

// hashed is the end of a name that stands for contents.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.js$`)

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

// split builds a script in parts, each loaded when it is needed.
func split(entry, dir string) api.BuildOptions {
	options := bundle(entry, "", api.ES2022)
	options.Outdir, options.Format, options.Splitting, options.Metafile, options.Write = dir, api.FormatESModule, true, true, false
	options.ChunkNames = "[name]-[hash]"
	options.Plugins = []api.Plugin{alone("highlight")}
	return options
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
