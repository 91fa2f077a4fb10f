package conversation

import "strings"

// Messages are the sentences that users read when the conversation changes hands. In each
// {{agent}} stands for the name of the specialist. An empty one is the default.
type Messages struct {
	Connecting    string `json:"connecting,omitempty" jsonschema:"Shown when a specialist takes over. {{agent}} is its name, here and in the other sentences. Defaults to: Connecting you with {{agent}}..."`
	Unavailable   string `json:"unavailable,omitempty" jsonschema:"Said when a specialist cannot take over. Defaults to: {{agent}} is currently unavailable. Would you like me to help you with something else, or try again later?"`
	SecondHandoff string `json:"second_handoff,omitempty" jsonschema:"Said when a second handoff is asked for while {{agent}} has the conversation. Defaults to: You're currently in a session with {{agent}}. Would you like to finish that first?"`
	Completed     string `json:"completed,omitempty" jsonschema:"Shown when a specialist has finished and gives the conversation back. Defaults to: Returning you to the main assistant."`
	Cancelled     string `json:"cancelled,omitempty" jsonschema:"Shown when the user leaves a specialist. Defaults to: No problem! Returning you to the main assistant."`
	Failed        string `json:"failed,omitempty" jsonschema:"Shown when a specialist cannot go on. Defaults to: {{agent}} cannot continue. Returning you to the main assistant."`
	ContinueLater string `json:"continue_later,omitempty" jsonschema:"Said when the user has left a specialist whose state is kept. Defaults to: Let me know if you'd like to continue with {{agent}} later."`
	WelcomeBack   string `json:"welcome_back,omitempty" jsonschema:"Said when a session whose state was kept can be continued. Defaults to: Welcome back! Would you like to continue with {{agent}}?"`
	Resumed       string `json:"resumed,omitempty" jsonschema:"Shown when a specialist goes on where it was left. Defaults to: Reconnecting you with {{agent}}..."`
}

// WithDefaults fills in the sentences that are not set.
func (m Messages) WithDefaults() Messages {
	for _, text := range []struct {
		field    *string
		standard string
	}{
		{&m.Connecting, "Connecting you with {{agent}}..."},
		{&m.Unavailable, "{{agent}} is currently unavailable. Would you like me to help you with something else, or try again later?"},
		{&m.SecondHandoff, "You're currently in a session with {{agent}}. Would you like to finish that first?"},
		{&m.Completed, "Returning you to the main assistant."},
		{&m.Cancelled, "No problem! Returning you to the main assistant."},
		{&m.Failed, "{{agent}} cannot continue. Returning you to the main assistant."},
		{&m.ContinueLater, "Let me know if you'd like to continue with {{agent}} later."},
		{&m.WelcomeBack, "Welcome back! Would you like to continue with {{agent}}?"},
		{&m.Resumed, "Reconnecting you with {{agent}}..."},
	} {
		if strings.TrimSpace(*text.field) == "" {
			*text.field = text.standard
		}
	}
	return m
}

// Say puts the name of an agent into one of the sentences.
func Say(sentence, agent string) string { return strings.ReplaceAll(sentence, "{{agent}}", agent) }
