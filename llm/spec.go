package llm

import (
	"strings"

	"github.com/convene-run/convene/events"
)

// apiOption is what may stand behind a model's name: "openai/gpt-5?api=chat".
const apiOption = "?api="

// WithAPI names a model together with the API that it is to be asked by. A name that
// says one already keeps it.
func WithAPI(spec string, api events.API) string {
	if api == "" || strings.Contains(spec, apiOption) {
		return spec
	}
	return spec + apiOption + string(api)
}

// CutAPI parts a model's name from the API that stands behind it, "" if none does.
func CutAPI(spec string) (name string, api events.API) {
	name, option, _ := strings.Cut(spec, apiOption)
	return name, events.API(option)
}
