package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/evanw/esbuild/pkg/api"
)

// writePage writes the page, in which stands the script that it begins with, and the parts that
// are loaded after that. The names by which parts are asked for stand for what they contain;
// their files have none of that, and parts.json tells which is which. The server puts the style
// into the page.
func writePage(src, dist string) error {
	made, err := writeParts(src, dist)
	if err != nil {
		return err
	}
	first := bundle(filepath.Join(src, "first.ts"), "", api.ES2022)
	first.Define = map[string]string{}
	app := made.needs("app")
	views := slices.DeleteFunc(made.needs("views"), func(part string) bool { return slices.Contains(app, part) })
	style, err := os.ReadFile(filepath.Join(dist, "app.css"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(style)
	styleName := "app-" + hex.EncodeToString(sum[:4]) + ".css"
	made.files[styleName] = "app.css"
	first.Define["wholeStyle"] = strconv.Quote("/" + styleName)
	for name, parts := range map[string][]string{"appParts": app, "viewsParts": views} {
		list, err := json.Marshal(parts)
		if err != nil {
			return err
		}
		first.Define[name] = string(list)
	}
	script, err := inline(first)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(src, "index.html"))
	if err != nil {
		return err
	}
	page = bytes.Replace(page, []byte("<!-- first -->"), script, 1)
	if err := os.WriteFile(filepath.Join(dist, "index.html"), page, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(made.files, "", "\t")
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

// parts are the files that the page's script is made of.
type parts struct {
	// files are their names, by those under which they are asked for.
	files map[string]string
	// imports are what each cannot begin without.
	imports map[string][]string
}

// needs gives the addresses of a part and of all that it cannot begin without, itself first.
func (p parts) needs(name string) (addresses []string) {
	var add func(asked string)
	add = func(asked string) {
		if slices.Contains(addresses, "/"+asked) {
			return
		}
		addresses = append(addresses, "/"+asked)
		for _, other := range p.imports[asked] {
			add(other)
		}
	}
	for asked, file := range p.files {
		if file == name+".js" {
			add(asked)
		}
	}
	return addresses
}

// hashed is the end of a name that stands for contents.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.js$`)

func writeParts(src, dist string) (parts, error) {
	options := bundle(filepath.Join(src, "app.tsx"), "", api.ES2022)
	options.EntryPoints = append(options.EntryPoints, filepath.Join(src, "views.ts"))
	options.Outdir, options.Format, options.Splitting, options.Write, options.Metafile = dist, api.FormatESModule, true, false, true
	options.EntryNames, options.ChunkNames = "[name]-[hash]", "[name]-[hash]"
	options.Plugins = []api.Plugin{alone("highlight")}
	result := api.Build(options)
	if err := failure(result.Errors); err != nil {
		return parts{}, err
	}
	var about struct {
		Outputs map[string]struct {
			Imports []struct{ Path, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(result.Metafile), &about); err != nil {
		return parts{}, err
	}
	made := parts{map[string]string{}, map[string][]string{}}
	for path, output := range about.Outputs {
		asked := filepath.Base(path)
		for _, needed := range output.Imports {
			if needed.Kind == "import-statement" {
				made.imports[asked] = append(made.imports[asked], filepath.Base(needed.Path))
			}
		}
	}
	for _, output := range result.OutputFiles {
		asked := filepath.Base(output.Path)
		name := hashed.ReplaceAllString(asked, ".js")
		for _, other := range made.files {
			if other == name {
				return parts{}, fmt.Errorf("two parts of the script are called %s: give the modules that they share to one of them", name)
			}
		}
		made.files[asked] = name
		if err := os.WriteFile(filepath.Join(dist, name), output.Contents, 0o644); err != nil {
			return parts{}, err
		}
	}
	return made, nil
}
