package team

import (
	"reflect"
	"slices"
	"strings"

	"github.com/convene-run/convene/conversation"
)

// agentPlaceholder stands for the name of a specialist in the sentences of [conversation.Messages].
const agentPlaceholder = "{{agent}}"

// checkMessages checks that the placeholders of each sentence are among those of its default,
// which are what convene puts something in for. A default without any is about an agent.
func checkMessages(path string, messages conversation.Messages, found *problems) {
	value, defaults := reflect.ValueOf(messages), reflect.ValueOf(conversation.Messages{}.WithDefaults())
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		at, text := path+"."+name, value.Field(i).String()
		checkLine(at, text, found)
		stand := placeholder.FindAllString(defaults.Field(i).String(), -1)
		if len(stand) == 0 {
			stand = []string{agentPlaceholder}
		}
		for _, written := range placeholder.FindAllString(text, -1) {
			if !slices.Contains(stand, written) {
				found.add(at, "%q stands for nothing here; write %s", clip(written), strings.Join(stand, " or "))
			}
		}
	}
}
