package team

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/internal/lazyregexp"
)

const (
	// maxSpecialists bounds a team: each is a tool that every turn of the
	// facilitator carries, and models choose badly among more.
	maxSpecialists = 20
	// maxFallbackModels bounds an agent's fallbacks: each may take a whole
	// timeout, and a run should fail before the day is over.
	maxFallbackModels = 8
	// maxTools bounds the tools that a specialist names: every call carries all of them,
	// and providers take no more.
	maxTools = 128
	// maxPromptChars bounds one prompt, which every model call carries.
	maxPromptChars = 128 << 10
	// maxLineChars bounds names and descriptions, which lists show in a line.
	maxLineChars = 500
)

// ReservedIDs are the words that no specialist may be called: roles in a
// conversation, and words for everybody.
func ReservedIDs() []string {
	return []string{"all", string(events.FacilitatorID), string(events.HumanID), string(events.RouterID), "system", "tool", "user"}
}

var (
	teamName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,39}$`)
	agentID  = lazyregexp.New(`^[a-z][a-z0-9_-]*$`)
	// Its length is counted apart, as that of an agent's id: repeated, the class takes megabytes to compile.
	modelName = lazyregexp.New(`^[^\s\p{C}]+$`)
)

// agentIDRule says what an agent's id is.
const agentIDRule = "write a lower-case letter, then up to 254 lower-case letters, digits, _ or -"

func isAgentID(id string) bool { return len(id) <= conversation.MaxIDChars && agentID.MatchString(id) }

// maxModelRunes bounds a model's name; the longest in use have below a hundred.
const maxModelRunes = 200

func isModelName(name string) bool {
	return modelName.MatchString(name) && utf8.RuneCountInString(name) <= maxModelRunes
}

// Validate checks a team that has its defaults. It gives a *[FileError] with all
// that is wrong. [Parse] has done so already.
func (t *Team) Validate() error {
	return t.check().err("", nil)
}

func (t *Team) check() problems {
	var found problems
	switch {
	case t.Name == "":
		found.add("name", "the team has no name; add one, such as \"name: launch\"")
	case !teamName.MatchString(t.Name):
		found.add("name", "%q is no team name; write a lower-case letter, then up to 39 lower-case letters, digits, - or _%s",
			clip(t.Name), instead(t.Name, "-", teamName))
	}
	checkLine("display_name", t.DisplayName, &found)
	checkLine("description", t.Description, &found)
	checkPrompt("request", t.Request, &found)
	checkRequest(t.Request, &found)
	t.checkFacilitator(&found)
	t.checkSpecialists(&found)
	t.checkLimits(&found)
	t.checkEvidence(&found)
	t.checkAnswerSchema(&found)
	t.checkHandoff(&found)
	t.checkConversation(&found)
	t.Tools.check(&found)
	t.checkMCP(&found)
	t.checkApprove(&found)
	t.checkRequires(&found)
	t.checkSearchApproved(&found)
	t.checkSanitize(&found)
	return found
}

func (t *Team) checkFacilitator(found *problems) {
	f := t.Facilitator
	checkLine("facilitator.display_name", f.DisplayName, found)
	checkPrompt("facilitator.prompt", f.Prompt, found)
	checkModels("facilitator", f.Model, f.FallbackModels, found)
	f.Tuning.check("facilitator", found)
	f.Orchestration.check("facilitator", found)
	checkAPI("facilitator", f.API, found)
}

func (t *Team) checkSpecialists(found *problems) {
	if len(t.Specialists) == 0 {
		found.add("specialists", "the team has no specialists; list at least one under \"specialists:\", each with id, description and prompt")
	}
	if len(t.Specialists) > maxSpecialists {
		found.add("specialists", "the team has %d specialists, %d is the most; merge some of them", len(t.Specialists), maxSpecialists)
	}
	if len(t.Specialists) > 0 && !t.Plans() && len(t.Talkers()) == 0 && len(t.Handoff.Agents()) == 0 {
		found.add("specialists", "nobody here can be given tasks (can_orchestrate, can_be_orchestrated), and nobody can take over the conversation; allow one of the two")
	}
	ids := map[events.AgentID]int{}
	names := map[string]string{strings.ToLower(t.Facilitator.DisplayName): "the facilitator"}
	for i, s := range t.Specialists {
		path := fmt.Sprintf("specialists[%d]", i)
		checkSpecialist(path, s, found)
		if first, twice := ids[s.ID]; twice && s.ID != "" {
			found.add(path+".id", "specialist %q is there twice, first as specialists[%d]; give each an id of its own", s.ID, first)
			continue
		}
		ids[s.ID] = i
		name := strings.ToLower(s.DisplayName)
		if other, twice := names[name]; twice && name != "" {
			found.add(path+".display_name", "%s is called %q too, and readers could not tell them apart; give each a display_name of its own", other, s.DisplayName)
			continue
		}
		names[name] = fmt.Sprintf("specialist %q", s.ID)
	}
}

func checkSpecialist(path string, s Specialist, found *problems) {
	id := string(s.ID)
	switch {
	case id == "":
		found.add(path+".id", "a specialist without an id; give it one, such as \"pricing\"")
	case slices.Contains(ReservedIDs(), id):
		found.add(path+".id", "%q is reserved, as are %s; choose another id, such as %q", id, strings.Join(without(ReservedIDs(), id), ", "), id+"_expert")
	case !isAgentID(id):
		found.add(path+".id", "%q is no id; %s%s", clip(id), agentIDRule, instead(id, "_", agentID))
	}
	checkLine(path+".display_name", s.DisplayName, found)
	checkLine(path+".description", s.Description, found)
	if strings.TrimSpace(s.Description) == "" {
		found.add(path+".description", "the description is empty; say what the specialist is for, because the facilitator chooses by it")
	}
	if strings.TrimSpace(s.Prompt) == "" {
		found.add(path+".prompt", "the prompt is empty; tell the specialist what to know and care about")
	}
	checkPrompt(path+".prompt", s.Prompt, found)
	checkModels(path, s.Model, s.FallbackModels, found)
	s.Tuning.check(path, found)
	checkAPI(path, s.API, found)
	s.Abilities.check(path, found)
	if len(s.Tools) > maxTools {
		found.add(path+".tools", "%d tools, %d is the most; models choose badly among many, so name those that the specialist needs", len(s.Tools), maxTools)
	}
	for i, tool := range s.Tools {
		if slices.Contains(s.Tools[:i], tool) {
			found.add(fmt.Sprintf("%s.tools[%d]", path, i), "tool %q is listed twice; remove one", clip(tool))
		}
	}
}

func checkModels(path, model string, fallbacks []string, found *problems) {
	if model != "" && !isModelName(model) {
		found.add(path+".model", "%q is no model; write provider/name, such as openai/gpt-5", clip(model))
	}
	if len(fallbacks) > maxFallbackModels {
		found.add(path+".fallback_models", "%d fallback models, %d is the most; keep those that differ most", len(fallbacks), maxFallbackModels)
	}
	for i, fallback := range fallbacks {
		at := fmt.Sprintf("%s.fallback_models[%d]", path, i)
		switch {
		case !isModelName(fallback):
			found.add(at, "%q is no model; write provider/name, such as openai/gpt-5", clip(fallback))
		case fallback == model || slices.Contains(fallbacks[:i], fallback):
			found.add(at, "model %q is tried already before; remove it here", fallback)
		}
	}
}

func checkAPI(path string, api events.API, found *problems) {
	switch api {
	case "", events.APIResponses, events.APIMessages, events.APIChat:
	default:
		found.add(path+".api", "%q is no API; write responses, messages or chat, or leave it out", clip(string(api)))
	}
}

func (t *Team) checkLimits(found *problems) {
	for _, wrong := range t.Limits.check() {
		path := "limits." + string(wrong.Limit)
		if _, written := t.places[path]; !written && wrong.Other != "" {
			path = "limits." + string(wrong.Other) // the default of the one is not to blame
		}
		found.add(path, "%s", wrong.Message)
	}
}

// checkLine checks a text that is shown in one line.
func checkLine(path, text string, found *problems) {
	if chars.Over(text, maxLineChars) {
		found.add(path, "the text has %d characters, %d is the most; shorten it", chars.Count(text), maxLineChars)
	}
	if strings.ContainsAny(strings.TrimSpace(text), "\n\r") {
		found.add(path, "the text must be a single line")
	}
	checkText(path, text, found)
}

func checkPrompt(path, text string, found *problems) {
	if chars.Over(text, maxPromptChars) {
		found.add(path, "the text has %d characters, %d is the most; shorten it", chars.Count(text), maxPromptChars)
	}
	checkText(path, text, found)
}

func checkText(path, text string, found *problems) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		found.add(path, "the text is not valid UTF-8 or holds a NUL byte; remove it")
	}
}

// instead suggests a spelling that the pattern allows, or nothing.
func instead(text, separator string, pattern *lazyregexp.Regexp) string {
	corrected := strings.Trim(notWord.ReplaceAllString(strings.ToLower(text), separator), separator)
	if corrected == text || !pattern.MatchString(corrected) {
		return ""
	}
	return fmt.Sprintf(", for example %q", corrected)
}

var notWord = lazyregexp.New(`[^a-z0-9]+`)

func without(list []string, word string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == word })
}

// clip shortens a text for an error message.
func clip(text string) string {
	const most = 60
	return chars.Clip(text, most)
}
