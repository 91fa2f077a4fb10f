package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/convene-run/convene/document"
)

// fileTeam is a team file: its fields are the keys that a file may have, and
// the JSON Schema is made of it.
type fileTeam struct {
	Name         string             `json:"name" jsonschema:"Name of the team: a lower-case letter, then lower-case letters, digits, - or _."`
	DisplayName  string             `json:"display_name,omitempty" jsonschema:"Name that people see. Defaults to the name in words."`
	Description  string             `json:"description,omitempty" jsonschema:"One line that says what the team is for."`
	Request      string             `json:"request,omitempty" jsonschema:"Template of the message that the facilitator gets. {{request}} stands for the user's text; other names in double braces are filled from a batch row's vars. Defaults to {{request}}."`
	Facilitator  Facilitator        `json:"facilitator,omitempty" jsonschema:"The agent that plans, dispatches, consolidates and answers."`
	Specialists  []Specialist       `json:"specialists" jsonschema:"The agents that do the work, 1 to 20."`
	Document     *fileDocument      `json:"document,omitempty" jsonschema:"Layout of the shared document. Without it, agents name sections and slots as they need them."`
	Limits       Limits             `json:"limits,omitempty" jsonschema:"Bounds of a run. Each has a default; convene team show prints them."`
	Handoff      *Handoff           `json:"handoff,omitempty" jsonschema:"To whom the facilitator may hand the conversation with the user over. Without it the facilitator keeps it."`
	Conversation *Conversation      `json:"conversation,omitempty" jsonschema:"Who answers the user's messages, by rules or in the stages of a pipeline. Without it the facilitator does, and whoever it hands over to."`
	Tools        *Tools             `json:"tools,omitempty" jsonschema:"Built-in tools that the team switches on, with their settings. A specialist has those that it names."`
	Evidence     Evidence           `json:"evidence,omitempty" jsonschema:"Whether an entry of the document must name a passage of a source that was found there: required or offered. Specialists that have tools can. Defaults to offered."`
	Approve      map[string]Approve `json:"approve,omitempty" jsonschema:"Which calls of tools wait for a person's approval, by the name of the tool or the beginning of names with * behind it; the longest that applies decides. Defaults to effectful for tools of MCP servers, and to never for others."`
	Requires     map[string]string  `json:"requires,omitempty" jsonschema:"Permissions that the user needs for calls of tools, such as orders:read, by the name of the tool or the beginning of names with * behind it; all that apply are needed. A call without them is not run."`
	Sanitize     map[string]string  `json:"sanitize,omitempty" jsonschema:"Patterns of values that the agents do not pass on to each other, by name, as regular expressions of Go; off under email, phone, card, iban, key, password or header leaves what convene itself finds of that kind alone."`
	AnswerSchema rawValue           `json:"answer_schema,omitempty" jsonschema:"JSON Schema of the answer, an object. With it the answer is JSON, which is validated; the model may correct it once, otherwise the run fails."`

	MCP map[string]MCPServer `json:"mcp,omitempty" jsonschema:"Servers of the Model Context Protocol, by name. Specialists name their tools as server__tool, or server__* for all."`
}

// rawValue is a value of the file as JSON.
type rawValue json.RawMessage

// fileDocument is either a layout by name or sections.
type fileDocument struct {
	Layout   string        `json:"layout,omitempty" jsonschema:"A layout by name: travel (days and times of day) or free (any section and slot)."`
	Sections []fileSection `json:"sections,omitempty" jsonschema:"The sections of the document, in order."`
}

type fileSection struct {
	ID          string   `json:"id" jsonschema:"Name that tools and entries use: letters, digits, _, - and ."`
	Title       string   `json:"title,omitempty" jsonschema:"Heading that readers see. Defaults to the id in words."`
	Description string   `json:"description,omitempty" jsonschema:"What belongs into the section. The agents read it."`
	Slots       []string `json:"slots,omitempty" jsonschema:"Names of the section's parts. Without them the section is one part."`
}

// Parse reads a team file. The name stands in error messages. The team is
// resolved and valid; else the error is a *[FileError] that lists every problem
// with its line and column.
func Parse(name string, src []byte) (*Team, error) {
	root, problem := parseSource(src)
	if problem != nil {
		return nil, problems{*problem}.err(name, nil)
	}
	d := newDecoder()
	var file fileTeam
	d.decodeFile(root, &file)
	t := Team{
		Name: file.Name, DisplayName: file.DisplayName, Description: file.Description,
		Request: file.Request, Facilitator: file.Facilitator, Specialists: file.Specialists,
		Document: d.layout(file.Document), Limits: file.Limits, Handoff: file.Handoff, Conversation: file.Conversation, Tools: file.Tools, MCP: file.MCP, Evidence: file.Evidence, Approve: file.Approve, Requires: file.Requires, Sanitize: file.Sanitize, AnswerSchema: json.RawMessage(file.AnswerSchema), file: name, places: d.places,
	}.WithDefaults()
	d.addUnlessBroken(t.check())
	if err := d.found.err(name, d.places); err != nil {
		return nil, err
	}
	return &t, nil
}

// Load reads the team file at path; see [Parse].
func Load(path string) (*Team, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("team file %s cannot be read: %w", path, plainly(err))
	}
	defer file.Close()
	// One byte more than allowed, so that Parse sees that it is too large.
	src, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read team file %s: %w", path, err)
	}
	t, err := Parse(path, src)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.locate(), t.locateServers()); err != nil {
		return nil, err
	}
	return t, nil
}

// namedLayouts are the layouts that a file may ask for by name.
var namedLayouts = []struct {
	name string
	make func() document.Layout
}{
	{"travel", document.Travel},
	{"free", document.Free},
}

// layout makes the document's layout of what the file says.
func (d *decoder) layout(file *fileDocument) document.Layout {
	switch {
	case file == nil:
		return document.Free()
	case file.Layout != "" && file.Sections != nil:
		d.broke("document", "document has both layout and sections; keep one of them")
	case file.Layout != "":
		return d.namedLayout(file.Layout)
	case len(file.Sections) > 0:
		return d.sections(file.Sections)
	case !d.brokenWithin("document"):
		d.broke("document", "document has neither layout nor sections; add one, or remove \"document\" for any section and slot")
	}
	return document.Layout{}
}

func (d *decoder) namedLayout(name string) document.Layout {
	names := make([]string, len(namedLayouts))
	for i, known := range namedLayouts {
		if known.name == name {
			return known.make()
		}
		names[i] = known.name
	}
	d.broke("document.layout", "unknown layout %q%s the layouts are %s; or list sections of your own",
		clip(name), didYouMean(name, names), join(names))
	return document.Layout{}
}

// sections makes a layout of declared sections. It tries each section alone
// first, because a layout tells of its first problem only.
func (d *decoder) sections(file []fileSection) document.Layout {
	sections := make([]document.Section, len(file))
	good := !d.brokenWithin("document.sections")
	for i, s := range file {
		sections[i] = document.Section(s)
		path := fmt.Sprintf("document.sections[%d]", i)
		if d.brokenWithin(path) {
			continue
		}
		if _, err := document.Sections(sections[i : i+1]); err != nil {
			d.layoutError(err, path)
			good = false
		}
	}
	if !good {
		return document.Layout{}
	}
	layout, err := document.Sections(sections)
	if err != nil {
		d.layoutError(err, "document.sections[0]")
	}
	return layout
}

// layoutError reports what the layout's compiler says. Its path leads from the
// document; first stands for the first section there.
func (d *decoder) layoutError(err error, first string) {
	path := "document.sections"
	var wrong *document.LayoutError
	if errors.As(err, &wrong) {
		path = "document." + wrong.Path
		if rest, ok := strings.CutPrefix(wrong.Path, "sections[0]"); ok {
			path = first + rest
		}
		err = errors.New(wrong.Message)
	}
	d.broke(path, "%s: %v", path, err)
}
