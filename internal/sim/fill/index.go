package fill

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// base is where a schema without an address of its own is taken to be.
const base = "https://schema.invalid/answer"

// index finds schemas by what others call them, and checks values against single ones.
type index struct {
	root *jsonschema.Schema
	// named has each schema by its address: a URI, "#", and a pointer or an anchor.
	named map[string]*jsonschema.Schema
	bases map[*jsonschema.Schema]*url.URL
	// pointers lead from the root to each schema.
	pointers map[*jsonschema.Schema]string
	checks   map[*jsonschema.Schema]*jsonschema.Resolved
}

func newIndex(root *jsonschema.Schema) (*index, error) {
	x := &index{
		root: root, named: map[string]*jsonschema.Schema{}, bases: map[*jsonschema.Schema]*url.URL{},
		pointers: map[*jsonschema.Schema]string{}, checks: map[*jsonschema.Schema]*jsonschema.Resolved{},
	}
	at, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	x.walk(root, at, "", nil)
	x.checks[root], err = root.CloneSchemas().Resolve(&jsonschema.ResolveOptions{BaseURI: base})
	return x, err
}

// resource is a schema with an address that encloses another: pointers begin there.
type resource struct{ address, pointer string }

func (x *index) walk(s *jsonschema.Schema, at *url.URL, pointer string, within []resource) {
	anchor := s.Anchor
	if id, err := at.Parse(s.ID); err == nil && s.ID != "" && !(x.draft7() && s.Ref != "") {
		if strings.HasPrefix(s.ID, "#") { // draft 7 writes anchors so
			anchor = s.ID[1:]
		} else {
			at = id
		}
	}
	own := *at
	own.Fragment = ""
	if len(within) == 0 || within[len(within)-1].address != own.String() {
		within = append(within[:len(within):len(within)], resource{own.String(), pointer})
	}
	x.bases[s], x.pointers[s] = &own, pointer
	for _, r := range within {
		x.named[r.address+"#"+strings.TrimPrefix(pointer, r.pointer)] = s
	}
	for _, name := range []string{anchor, s.DynamicAnchor} {
		if address := own.String() + "#" + name; name != "" && x.named[address] == nil {
			x.named[address] = s
		}
	}
	eachChild(s, func(step string, child *jsonschema.Schema) { x.walk(child, &own, pointer+step, within) })
}

// draft7 reports whether the schema is of the draft in which nothing stands beside a
// reference and definitions have a keyword of their own.
func (x *index) draft7() bool { return strings.Contains(x.root.Schema, "draft-07") }

// eachChild gives the schemas right below s, with the steps of a JSON pointer to them.
func eachChild(s *jsonschema.Schema, visit func(step string, child *jsonschema.Schema)) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			name = untagged[field.Name]
		}
		switch children := v.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			if children != nil {
				visit("/"+name, children)
			}
		case []*jsonschema.Schema:
			for n, child := range children {
				visit("/"+name+"/"+strconv.Itoa(n), child)
			}
		case map[string]*jsonschema.Schema:
			for key, child := range children {
				visit("/"+name+"/"+escape.Replace(key), child)
			}
		}
	}
}

// untagged are the fields whose name in JSON is not in their tag.
var untagged = map[string]string{"Items": "items", "ItemsArray": "items", "DependencySchemas": "dependencies"}

// target gives the schema that s refers to, nil where it is not found.
func (x *index) target(s *jsonschema.Schema, ref string) *jsonschema.Schema {
	at, err := x.bases[s].Parse(ref)
	if err != nil {
		return nil
	}
	fragment := at.Fragment
	at.Fragment, at.RawFragment = "", ""
	return x.named[at.String()+"#"+fragment]
}

// fits reports whether the value fits the schemas, each by itself. A schema that cannot
// be checked alone is left to the check of the whole.
func (x *index) fits(value any, schemas []*jsonschema.Schema) bool {
	for _, s := range schemas {
		check, known := x.checks[s]
		if !known {
			check = x.check(s)
			x.checks[s] = check
		}
		if check != nil && check.Validate(value) != nil {
			return false
		}
	}
	return true
}

// check makes the validator of a schema inside the whole, nil for one of our own.
func (x *index) check(s *jsonschema.Schema) *jsonschema.Resolved {
	pointer, known := x.pointers[s]
	if !known {
		return nil
	}
	root := x.root.CloneSchemas()
	if root.ID == "" {
		root.ID = base
	}
	at, err := url.Parse(base)
	if err != nil {
		return nil
	}
	id, err := at.Parse(root.ID)
	if err != nil {
		return nil
	}
	id.Fragment = pointer
	whole := map[string]*jsonschema.Schema{"whole": root}
	part := &jsonschema.Schema{Schema: root.Schema, Ref: id.String(), Defs: whole}
	if x.draft7() {
		part.Defs, part.Definitions = nil, whole
	}
	check, err := part.Resolve(&jsonschema.ResolveOptions{BaseURI: "https://schema.invalid/part"})
	if err != nil {
		return nil
	}
	return check
}
