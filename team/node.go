package team

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node holds, in the words of an error message.
type kind string

const (
	kindText    kind = "text"
	kindNumber  kind = "a number"
	kindBool    kind = "true or false"
	kindNull    kind = "nothing"
	kindMapping kind = "a mapping"
	kindList    kind = "a list"
)

// node is one value of a file, aliases replaced by what they stand for.
type node struct {
	kind
	at    place
	text  string  // kindText: the value; other scalars: as written
	num   float64 // kindNumber
	pairs []pair  // kindMapping
	items []*node // kindList
}

type pair struct {
	key   string
	at    place
	value *node
}

// rename reads a key of a mapping as another.
func (n *node) rename(from, to string) {
	for i := range n.pairs {
		if from != "" && n.pairs[i].key == from {
			n.pairs[i].key = to
		}
	}
}

// treeBuilder turns the parser's tree into nodes.
type treeBuilder struct {
	anchors map[string]ast.Node
	// open holds the anchors being written out: an alias of one of them would
	// contain itself.
	open map[string]bool
	// outer is the alias being written out, the outermost where they nest: a
	// problem within it is one of where it is used.
	outer *token.Token
	nodes int
	// problem is the first that was met; building stops there.
	problem *Problem
}

func buildTree(file *ast.File) (*node, *Problem) {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			continue
		}
		if body != nil {
			return nil, at(doc.Body.GetToken(), "a second YAML document; a file holds one, put others into files of their own")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &Problem{Message: blankFile}
	}
	b := &treeBuilder{anchors: map[string]ast.Node{}, open: map[string]bool{}}
	root := b.build(body, 0)
	return root, b.problem
}

func (b *treeBuilder) fail(tk *token.Token, format string, args ...any) *node {
	if b.outer != nil {
		tk = b.outer
	}
	if b.problem == nil {
		b.problem = at(tk, format, args...)
	}
	return &node{kind: kindNull}
}

func (b *treeBuilder) build(from ast.Node, depth int) *node {
	if b.problem != nil {
		return &node{kind: kindNull}
	}
	if b.nodes++; b.nodes > maxNodes {
		return b.fail(from.GetToken(), "the file has more than %d values, its aliases written out; use fewer aliases", maxNodes)
	}
	if depth > maxDepth {
		return b.fail(from.GetToken(), "values nest more than %d deep; write less deep", maxDepth)
	}
	switch n := from.(type) {
	case *ast.MappingNode:
		return b.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		list := &node{kind: kindList, at: placeOf(n)}
		for _, item := range n.Values {
			list.items = append(list.items, b.build(item, depth+1))
		}
		return list
	case *ast.AnchorNode:
		return b.anchor(n, depth)
	case *ast.AliasNode:
		return b.alias(n, depth)
	case nil:
		return &node{kind: kindNull}
	}
	return b.scalar(from)
}

func (b *treeBuilder) mapping(from ast.Node, values []*ast.MappingValueNode, depth int) *node {
	m := &node{kind: kindMapping, at: placeOf(from)}
	for i, value := range values {
		key, ok := scalarKey(value.Key)
		if !ok {
			return b.fail(value.Key.GetToken(), "this key is not a plain word; write \"key: value\"")
		}
		where := placeOf(value.Key)
		if i == 0 && !isFlow(from) {
			m.at = where
		}
		m.pairs = append(m.pairs, pair{key: key, at: where, value: b.build(value.Value, depth+1)})
	}
	return m
}

func isFlow(from ast.Node) bool {
	m, ok := from.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

func scalarKey(key ast.MapKeyNode) (string, bool) {
	switch n := key.(type) {
	case *ast.StringNode:
		return n.Value, true
	case ast.ScalarNode:
		return key.GetToken().Value, true
	}
	return "", false
}

func (b *treeBuilder) anchor(n *ast.AnchorNode, depth int) *node {
	name := n.Name.GetToken().Value
	b.open[name] = true
	defer delete(b.open, name)
	b.anchors[name] = n.Value
	return b.build(n.Value, depth+1)
}

func (b *treeBuilder) alias(n *ast.AliasNode, depth int) *node {
	name := n.Value.GetToken().Value
	target, ok := b.anchors[name]
	switch {
	case !ok:
		return b.fail(n.Start, "alias *%s has no anchor &%s before it; add the anchor or write the value out", clip(name), clip(name))
	case b.open[name]:
		return b.fail(n.Start, "alias *%s stands within its own anchor; write the value out", clip(name))
	}
	b.open[name] = true
	defer delete(b.open, name)
	if b.outer == nil {
		b.outer = n.Start
		defer func() { b.outer = nil }()
	}
	copied := *b.build(target, depth+1)
	copied.at = placeOf(n) // problems are shown where the alias is used
	return &copied
}

func (b *treeBuilder) scalar(from ast.Node) *node {
	n := &node{at: placeOf(from), text: from.GetToken().Value}
	switch s := from.(type) {
	case *ast.StringNode:
		n.kind, n.text = kindText, s.Value
	case *ast.LiteralNode:
		n.kind, n.text = kindText, s.Value.Value
	case *ast.IntegerNode:
		n.kind = kindNumber
		switch value := s.Value.(type) {
		case int64:
			n.num = float64(value)
		case uint64:
			n.num = float64(value)
		}
	case *ast.FloatNode:
		n.kind, n.num = kindNumber, s.Value
	case *ast.BoolNode:
		n.kind = kindBool
	case *ast.NullNode:
		n.kind = kindNull
	default:
		return b.fail(from.GetToken(), "%s is not used here; write plain text or a number", clip(n.text))
	}
	return n
}

func placeOf(n ast.Node) place {
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return place{}
	}
	return place{line: tk.Position.Line, column: tk.Position.Column}
}
