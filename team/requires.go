package team

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/access"
)

// Required gives the permissions that a call of the tool takes: those of every name under
// requires that stands for it, sorted.
func (t *Team) Required(tool string) (all []string) {
	for name, permission := range t.Requires {
		if name == everyToolOf || names(name, tool) {
			all = append(all, permission)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (t *Team) checkRequires(found *problems) {
	for _, name := range slices.Sorted(maps.Keys(t.Requires)) {
		at := "requires." + name
		switch begin, all := strings.CutSuffix(name, everyToolOf); {
		case name == "":
			found.add("requires", "a tool without a name; write the name of a tool, or * for all")
		case strings.Contains(begin, everyToolOf):
			found.add(at, "%q: only the end of a name can be left open; write one * behind its beginning", clip(name))
		case !all && len(name) > maxLineChars:
			found.add(at, "the name of a tool has at most %d characters", maxLineChars)
		case t.Tools != nil && t.Tools.WebSearch != nil && (name == everyToolOf || names(name, ToolWebSearch)):
			found.add(at, "%s cannot require a permission: the model's provider runs it while it writes a reply. Name the other tools one by one, or leave this one out", ToolWebSearch)
		}
		if err := access.CheckPermission(t.Requires[name]); err != nil {
			found.add(at, "%s", err)
		}
	}
}

// findRequiring finds the names under requires that stand for none of the tools that are offered.
func (t *Team) findRequiring(offered []string, found *problems) {
	for _, name := range slices.Sorted(maps.Keys(t.Requires)) {
		if name != everyToolOf && !slices.ContainsFunc(offered, func(tool string) bool { return names(name, tool) }) {
			found.add("requires."+name, "%s", cmp.Or(t.unknownServer(name), unknownTool(name, offered)))
		}
	}
}
