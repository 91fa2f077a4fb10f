package team

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// Approve says which calls of a tool wait for a person's approval.
type Approve string

// Which calls wait.
const (
	ApproveAlways Approve = "always"
	// ApproveEffectful is for those whose repetition would not be harmless.
	ApproveEffectful Approve = "effectful"
	ApproveNever     Approve = "never"
)

// Approvals are the values of [Approve].
func Approvals() []string {
	return []string{string(ApproveAlways), string(ApproveEffectful), string(ApproveNever)}
}

// Asks reports whether a call of the tool waits for a person's approval. The longest name under
// approve that stands for the tool decides; usual is for tools that have none.
func (t *Team) Asks(tool string, effect events.Effect, usual Approve) bool {
	longest := -1
	for name, approve := range t.Approve {
		if (name == everyToolOf || names(name, tool)) && len(name) > longest {
			longest, usual = len(name), approve
		}
	}
	if approve, exact := t.Approve[tool]; exact {
		usual = approve
	}
	switch usual {
	case ApproveAlways:
		return true
	case ApproveEffectful:
		return effect != events.EffectPure && effect != events.EffectIdempotent
	}
	return false
}

// BuiltinTool reports whether convene has a tool of that name which teams switch on.
func BuiltinTool(name string) bool { return slices.Contains(builtinNamesOfTools(), name) }

func (t *Team) checkApprove(found *problems) {
	for _, name := range slices.Sorted(maps.Keys(t.Approve)) {
		at := "approve." + name
		switch begin, all := strings.CutSuffix(name, everyToolOf); {
		case name == "":
			found.add("approve", "a tool without a name; write the name of a tool, or * for all")
		case strings.Contains(begin, everyToolOf):
			found.add(at, "%q: only the end of a name can be left open; write one * behind its beginning", clip(name))
		case !all && len(name) > maxLineChars:
			found.add(at, "the name of a tool has at most %d characters", maxLineChars)
		}
		if !slices.Contains(Approvals(), string(t.Approve[name])) {
			found.add(at, "%q is no rule for approval%s write %s", clip(string(t.Approve[name])), didYouMean(string(t.Approve[name]), Approvals()), join(Approvals()))
		}
	}
}

// checkSearchApproved refuses to hold a search: the provider runs it within a reply, where
// nobody can be asked.
func (t *Team) checkSearchApproved(found *problems) {
	if t.Tools == nil || t.Tools.WebSearch == nil || !t.Asks(ToolWebSearch, events.EffectPure, ApproveNever) {
		return
	}
	at := ""
	for name := range t.Approve {
		if name == ToolWebSearch || (name == everyToolOf || names(name, ToolWebSearch)) && at != ToolWebSearch && len(name) > len(at) {
			at = name
		}
	}
	found.add("approve."+at, "%s cannot wait for approval: the model's provider runs it while it writes a reply. Add \"%s: never\" under approve, or leave the tool out", ToolWebSearch, ToolWebSearch)
}

// findApproved finds the names under approve that stand for none of the tools that are offered.
func (t *Team) findApproved(offered []string, found *problems) {
	for _, name := range slices.Sorted(maps.Keys(t.Approve)) {
		if name != everyToolOf && !slices.ContainsFunc(offered, func(tool string) bool { return names(name, tool) }) {
			found.add("approve."+name, "%s", cmp.Or(t.unknownServer(name), unknownTool(name, offered)))
		}
	}
}
