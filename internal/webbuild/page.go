package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// writePage writes the page, in which stand its style and the script of the lists, and the
// parts of the script that are loaded when they are needed. The names by which parts are
// asked for stand for what they contain; their files have none of that, and parts.json tells
// which is which.
func writePage(src, dist string) error {
	src, err := filepath.Abs(src)
	if err != nil {
		return err
	}
	own, err := exports(src)
	if err != nil {
		return err
	}
	files, needed, err := writeParts(src, dist, own)
	if err != nil {
		return err
	}
	views := ""
	for asked, name := range files {
		if name == "views.js" {
			views = "/" + asked
		}
	}
	first := bundle(filepath.Join(src, "first.ts"), "", api.ES2022)
	first.Define = map[string]string{"viewsPart": `"` + views + `"`}
	page, err := os.ReadFile(filepath.Join(src, "index.html"))
	if err != nil {
		return err
	}
	style, err := os.ReadFile(filepath.Join(dist, "app.css"))
	if err != nil {
		return err
	}
	page = bytes.Replace(page, []byte("<!-- style -->"), slices.Concat([]byte("<style>"), style, []byte("</style>")), 1)
	for mark, options := range map[string]api.BuildOptions{"<!-- first -->": first, "<!-- script -->": lending(src, views, needed)} {
		script, err := inline(options)
		if err != nil {
			return err
		}
		page = bytes.Replace(page, []byte(mark), script, 1)
	}
	if err := os.WriteFile(filepath.Join(dist, "index.html"), page, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(files, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "parts.json"), append(text, '\n'), 0o644)
}

// inline is a script as it stands in a page. What would end its element, or begin another in
// it, stands in strings and expressions alone, where it may be written otherwise.
func inline(options api.BuildOptions) ([]byte, error) {
	options.Write = false
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return nil, err
	}
	script := bytes.TrimSpace(result.OutputFiles[0].Contents)
	for _, tag := range []string{"</script", "<script", "<!--"} {
		script = bytes.ReplaceAll(script, []byte(tag), []byte(`\x3c`+tag[1:]))
	}
	return slices.Concat([]byte("<script>"), script, []byte("</script>")), nil
}

// The page's script lends its modules to the parts, which must share them: there is one
// address, and one of each signal. A module cannot be imported from a script that stands in a
// page, so they are in window.lent, by their names.

// exports are what the modules of the page's own script export, by their files.
func exports(src string) (map[string][]string, error) {
	own, err := examine(src, filepath.Join(src, "app.tsx"))
	if err != nil {
		return nil, err
	}
	each, err := examine(src, slices.Sorted(maps.Keys(own.Inputs))...)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for _, output := range each.Outputs {
		if output.EntryPoint == "" {
			continue
		}
		file, err := filepath.Abs(output.EntryPoint)
		if err != nil {
			return nil, err
		}
		files[file] = output.Exports
	}
	return files, nil
}

// metafile is what the bundler tells of what it has built.
type metafile struct {
	Inputs  map[string]any
	Outputs map[string]struct {
		EntryPoint string
		Exports    []string
	}
}

// examine builds modules, for what the bundler tells of them.
func examine(src string, modules ...string) (about metafile, err error) {
	options := bundle("", "", api.ES2022)
	options.EntryPoints, options.Outdir, options.Format = modules, src, api.FormatESModule
	options.Write, options.Metafile, options.Plugins = false, true, []api.Plugin{elsewhere("/views.js")}
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return about, err
	}
	return about, json.Unmarshal([]byte(result.Metafile), &about)
}

// elsewhere has views be loaded from an address.
func elsewhere(address string) api.Plugin {
	return api.Plugin{Name: "elsewhere", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: `^\./views$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: address, External: true}, nil
		})
	}}
}

// hashed is the end of a name that stands for contents.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.js$`)

// writeParts writes the parts. It gives their files by the names under which they are asked
// for, and the modules that they borrow.
func writeParts(src, dist string, own map[string][]string) (files map[string]string, needed []string, err error) {
	options := bundle(filepath.Join(src, "views.ts"), "", api.ES2022)
	options.Outdir, options.Format, options.Splitting, options.Write = dist, api.FormatESModule, true, false
	options.EntryNames, options.ChunkNames = "[name]-[hash]", "[name]-[hash]"
	options.Plugins = []api.Plugin{borrowing(src, own, &needed), alone("highlight")}
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return nil, nil, err
	}
	files = map[string]string{}
	for _, output := range result.OutputFiles {
		asked := filepath.Base(output.Path)
		files[asked] = hashed.ReplaceAllString(asked, ".js")
		if err := os.WriteFile(filepath.Join(dist, files[asked]), output.Contents, 0o644); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(needed)
	return files, slices.Compact(needed), nil
}

// borrowing has a part take from the page's script what is there.
func borrowing(src string, own map[string][]string, needed *[]string) api.Plugin {
	type again struct{}
	return api.Plugin{Name: "borrowing", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: "."}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if _, asked := args.PluginData.(again); asked || args.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{}, nil
			}
			found := build.Resolve(args.Path, api.ResolveOptions{Importer: args.Importer, ResolveDir: args.ResolveDir, Kind: args.Kind, PluginData: again{}})
			if len(found.Errors) > 0 || own[found.Path] == nil {
				return api.OnResolveResult{}, nil // the bundler says what is wrong
			}
			// The names of parts stand for the paths in them too: no machine's own may be there.
			name, err := filepath.Rel(src, found.Path)
			return api.OnResolveResult{Path: filepath.ToSlash(name), Namespace: "lent"}, err
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".", Namespace: "lent"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			*needed = append(*needed, args.Path)
			names := strings.Join(own[filepath.Join(src, filepath.FromSlash(args.Path))], ", ")
			contents := fmt.Sprintf("const {%s} = window.lent[%q]; export {%s}", names, args.Path, names)
			return api.OnLoadResult{Contents: &contents}, nil
		})
	}}
}

// lending is the page's script, with the modules that it lends.
func lending(src, views string, modules []string) api.BuildOptions {
	var imports, all strings.Builder
	for i, name := range modules {
		if !strings.HasPrefix(name, ".") {
			name = "./" + name
		}
		fmt.Fprintf(&imports, "import * as m%d from %q;\n", i, name)
		fmt.Fprintf(&all, "%q: m%d,\n", modules[i], i)
	}
	options := bundle("", "", api.ES2022)
	options.EntryPoints = nil
	options.Plugins = []api.Plugin{elsewhere(views)}
	options.Stdin = &api.StdinOptions{ResolveDir: src, Contents: imports.String() + "window.lent = {\n" + all.String() + "};\nimport \"./app\";"}
	return options
}
