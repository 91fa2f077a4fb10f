package conversation

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// Messages are the sentences that users read when the conversation changes hands. In each
// {{agent}} stands for the name of the specialist. An empty one is the default.
type Messages struct {
	Connecting    string `json:"connecting,omitempty" jsonschema:"Shown when a specialist takes over. {{agent}} is its name, here and in the other sentences. Defaults to: Connecting you with {{agent}}..."`
	PersonAsked   string `json:"person_asked,omitempty" jsonschema:"Shown when a person is asked while the agents go on answering. Defaults to: A person has been asked, and will answer you here."`
	Unavailable   string `json:"unavailable,omitempty" jsonschema:"Said when a specialist cannot take over. Defaults to: {{agent}} is currently unavailable. Would you like me to help you with something else, or try again later?"`
	SecondHandoff string `json:"second_handoff,omitempty" jsonschema:"Said when a second handoff is asked for while {{agent}} has the conversation. Defaults to: You're currently in a session with {{agent}}. Would you like to finish that first?"`
	Completed     string `json:"completed,omitempty" jsonschema:"Shown when a specialist has finished and gives the conversation back. Defaults to: Returning you to the main assistant."`
	Cancelled     string `json:"cancelled,omitempty" jsonschema:"Shown when the user leaves a specialist. Defaults to: No problem! Returning you to the main assistant."`
	Failed        string `json:"failed,omitempty" jsonschema:"Shown when a specialist cannot go on. Defaults to: {{agent}} cannot continue. Returning you to the main assistant."`
	ContinueLater string `json:"continue_later,omitempty" jsonschema:"Said when the user has left a specialist whose state is kept. Defaults to: Let me know if you'd like to continue with {{agent}} later."`
	WelcomeBack   string `json:"welcome_back,omitempty" jsonschema:"Said when a session whose state was kept can be continued. Defaults to: Welcome back! Would you like to continue with {{agent}}?"`
	Resumed       string `json:"resumed,omitempty" jsonschema:"Shown when a specialist goes on where it was left. Defaults to: Reconnecting you with {{agent}}..."`
	Transition    string `json:"transition,omitempty" jsonschema:"Shown when one phase follows another. {{phase}} is the phase that is over, {{next}} the one that begins. Defaults to: ✓ {{phase}} complete - Starting {{next}}..."`
	PipelineEnd   string `json:"pipeline_end,omitempty" jsonschema:"Shown when the last phase is over. Defaults to: ✓ {{phase}} complete"`
	RolledBack    string `json:"rolled_back,omitempty" jsonschema:"Said when the agent of the next phase cannot take over. {{next}} is its name, {{agent}} that of the agent that goes on. Defaults to: {{next}} could not take over just now. You are with {{agent}} again and nothing is lost: send a message to try once more."`
	Limited       string `json:"limited,omitempty" jsonschema:"Said when specialists that were asked could not answer. Defaults to: I'm working with limited resources right now, but here's what I know..."`
	TakingLonger  string `json:"taking_longer,omitempty" jsonschema:"Shown in a conversation when nothing has come for limits.silence_slow. Defaults to: This is taking longer than expected. I'll let you know when I have results..."`
	RingStopped   string `json:"ring_stopped,omitempty" jsonschema:"Said when agents passed the conversation on too often without a message of the user's. Defaults to: I stopped here, because the conversation was passed on many times without a question to you. {{agent}} reads your next message."`
}

// defaultsTo stands before the default of a sentence in its description, which is the only
// place that has it.
const defaultsTo = "Defaults to: "

// WithDefaults fills in the sentences that are not set.
func (m Messages) WithDefaults() Messages {
	sentences := reflect.ValueOf(&m).Elem()
	for field, sentence := range sentences.Fields() {
		if strings.TrimSpace(sentence.String()) == "" {
			_, standard, _ := strings.Cut(field.Tag.Get("jsonschema"), defaultsTo)
			sentence.SetString(standard)
		}
	}
	return m
}

// Say puts the name of an agent into one of the sentences.
func Say(sentence, agent string) string { return strings.ReplaceAll(sentence, "{{agent}}", agent) }

// SayTransition tells the user that a phase is over, and which one begins; none where to is "".
func (m Messages) SayTransition(from, to events.Phase) string {
	over := words(from)
	if first, size := utf8.DecodeRuneInString(over); size > 0 {
		over = string(unicode.ToUpper(first)) + over[size:]
	}
	sentence := m.Transition
	if to == "" {
		sentence = m.PipelineEnd
	}
	return strings.NewReplacer("{{phase}}", over, "{{next}}", words(to)).Replace(sentence)
}

// words writes a phase for people: "second_opinion" becomes "second opinion".
func words(phase events.Phase) string {
	return strings.NewReplacer("_", " ", "-", " ").Replace(string(phase))
}

// SayRolledBack tells the user that the agent called next could not take over, and that the
// one called agent goes on.
func (m Messages) SayRolledBack(next, agent string) string {
	return strings.NewReplacer("{{next}}", next, "{{agent}}", agent).Replace(m.RolledBack)
}

// SayRing tells the user that agents went round in a ring.
func (m Messages) SayRing(agent string) string { return Say(m.RingStopped, agent) }
