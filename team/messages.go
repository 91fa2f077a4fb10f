package team

import (
	"reflect"
	"strings"

	"github.com/convene-run/convene/conversation"
)

// agentPlaceholder stands for the name of a specialist in the sentences of [conversation.Messages].
const agentPlaceholder = "agent"

// checkMessages checks sentences whose placeholders have the names.
func checkMessages(path string, messages conversation.Messages, found *problems) {
	value := reflect.ValueOf(messages)
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		at, text := path+"."+name, value.Field(i).String()
		checkLine(at, text, found)
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			if strings.TrimSpace(match[1]) != agentPlaceholder {
				found.add(at, "%q stands for nothing here; write {{agent}} for the name of the specialist", clip(match[0]))
			}
		}
	}
}
