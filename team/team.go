package team

import (
	"encoding/json"
	"strings"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
)

// Team is a facilitator with its specialists. Its JSON form is stable: the same
// team always gives the same bytes.
type Team struct {
	// Name identifies the team: a lower-case letter, then up to 39 lower-case
	// letters, digits, "-" or "_".
	Name string `json:"name"`
	// DisplayName is what people see. Defaults to the name in words.
	DisplayName string `json:"display_name"`
	// Description says in one line what the team is for.
	Description string `json:"description,omitempty"`
	// Request is the template of the message that the facilitator gets; see
	// [Team.Message]. Defaults to "{{request}}", the user's text as it is.
	Request     string          `json:"request"`
	Facilitator Facilitator     `json:"facilitator"`
	Specialists []Specialist    `json:"specialists"`
	Document    document.Layout `json:"document"`
	Limits      Limits          `json:"limits"`
	// Handoff says to whom the facilitator may hand the conversation over; nil is nobody.
	Handoff *Handoff `json:"handoff,omitempty"`
	// Conversation says who answers the user's messages; nil is the facilitator, beside
	// handoffs.
	Conversation *Conversation `json:"conversation,omitempty"`
	// Tools are the built-in tools that the team switches on; nil is none.
	Tools *Tools `json:"tools,omitempty"`
	// Evidence says whether specialists must name sources. Empty means that they may.
	Evidence Evidence `json:"evidence,omitempty"`
	// Approve says by the names of tools, or their beginnings with * behind them, which calls
	// wait for a person's approval; see [Team.Asks].
	Approve map[string]Approve `json:"approve,omitempty"`
	// Requires says by the same names which permissions of the user calls take: see
	// [Team.Required].
	Requires map[string]string `json:"requires,omitempty"`
	// Sanitize has patterns of what agents do not pass on to each other, by name, beside what
	// package sanitize finds: see [sanitize.New].
	Sanitize map[string]string `json:"sanitize,omitempty"`
	// AnswerSchema is the JSON Schema of the answer. Without it the answer is text.
	AnswerSchema json.RawMessage `json:"answer_schema,omitempty"`
	// MCP are servers whose tools specialists may name, as server__tool, by the servers' names.
	MCP map[string]MCPServer `json:"mcp,omitempty"`

	// file is the file that the team was parsed from, places where it says each thing.
	file   string
	places places
}

// Facilitator plans, dispatches, consolidates and answers.
type Facilitator struct {
	DisplayName string `json:"display_name,omitempty" jsonschema:"Name that people see. Defaults to Facilitator."`
	// Prompt is about the domain. How to plan, dispatch and consolidate is added
	// by the package facilitator. Empty means that alone.
	Prompt string `json:"prompt,omitempty" jsonschema:"What the facilitator should know about the domain: what a good answer contains and what to check. How to plan, dispatch and consolidate is added."`
	// Model is "provider/name". Empty means the model that the run was given.
	Model          string   `json:"model,omitempty" jsonschema:"Model as provider/name. Defaults to the model that the run is given."`
	FallbackModels []string `json:"fallback_models,omitempty" jsonschema:"Models to try, in order, when the first one cannot answer. A model given for the whole run replaces them."`
	// API is the one that Model is asked by. Empty means the one that suits its provider.
	API events.API `json:"api,omitempty" jsonschema:"API that the model is asked by: responses, messages or chat. Defaults to the one that suits its provider. Behind a fallback it is written ?api=chat."`
	Tuning
	Orchestration
}

// Specialist works on tasks of one domain and writes into the document.
type Specialist struct {
	// ID is how agents, tasks and entries name the specialist: a lower-case
	// letter, then up to 254 lower-case letters, digits, "_" or "-".
	ID          events.AgentID `json:"id" jsonschema:"Name that tasks, tools and document entries use: a lower-case letter, then lower-case letters, digits, _ or -."`
	DisplayName string         `json:"display_name,omitempty" jsonschema:"Name that people see. Defaults to the id in words."`
	// Description says what the specialist is for; the facilitator reads it.
	Description string `json:"description" jsonschema:"What the specialist is for. The facilitator reads it to decide who gets which task."`
	// Prompt is about the domain. How to use the board and the document is added
	// by the package specialists.
	Prompt string `json:"prompt" jsonschema:"What the specialist should know and care about. How to use the task board and the document is added."`
	// Model is "provider/name". Empty means the model that the run was given.
	Model          string   `json:"model,omitempty" jsonschema:"Model as provider/name. Defaults to the model that the run is given."`
	FallbackModels []string `json:"fallback_models,omitempty" jsonschema:"Models to try, in order, when the first one cannot answer. A model given for the whole run replaces them."`
	// API is the one that Model is asked by. Empty means the one that suits its provider.
	API events.API `json:"api,omitempty" jsonschema:"API that the model is asked by: responses, messages or chat. Defaults to the one that suits its provider. Behind a fallback it is written ?api=chat."`
	Tuning
	// Tools are the tools that the specialist has beside those for the task board and the
	// document, by name, or by the beginning of their names with * behind it. nil is all that
	// the program offers, and none that the team switches on; empty is none.
	Tools []string `json:"tools,omitzero" jsonschema:"Names of the tools that the specialist has beside those for the task board and the document; a name that ends in * stands for all tools that begin like it. Defaults to all that the program offers, and none of those under tools; [] is none."`
	Abilities
}

// Specialist finds a specialist by id.
func (t *Team) Specialist(id events.AgentID) (Specialist, bool) {
	for _, s := range t.Specialists {
		if s.ID == id {
			return s, true
		}
	}
	return Specialist{}, false
}

// File is the file that the team was parsed from, as it was named; "" for none.
func (t *Team) File() string { return t.file }

// Copy gives a copy that shares nothing with the team. It fails where the team has no JSON
// form.
func (t *Team) Copy() (Team, error) {
	copied := Team{}
	text, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	copied.file, copied.places = t.file, t.places
	return copied, err
}

// WithDefaults returns the team with every default filled in. [Parse] has done
// so already; a team built in Go calls it before [Team.Validate].
func (t Team) WithDefaults() Team {
	if t.DisplayName == "" && teamName.MatchString(t.Name) {
		t.DisplayName = words(t.Name)
	}
	if t.Request == "" {
		t.Request = plainRequest
	}
	if t.Facilitator.DisplayName == "" {
		t.Facilitator.DisplayName = words(string(events.FacilitatorID))
	}
	specialists := make([]Specialist, len(t.Specialists))
	for i, s := range t.Specialists {
		if s.DisplayName == "" && isAgentID(string(s.ID)) {
			s.DisplayName = words(string(s.ID))
		}
		specialists[i] = s
	}
	t.Specialists = specialists
	t.Handoff = t.Handoff.withTargets(specialists)
	t.Limits = t.Limits.WithDefaults()
	return t
}

// words turns an id, which is never empty, into a name for people: "unit_tests"
// becomes "Unit tests".
func words(id string) string {
	text := strings.NewReplacer("_", " ", "-", " ").Replace(id)
	return strings.ToUpper(text[:1]) + text[1:]
}
