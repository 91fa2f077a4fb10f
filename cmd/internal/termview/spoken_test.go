package termview

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The text within a tool call that is being written, wherever the end begins.
func TestSpoken(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"day":1,"content":"Nishiki market, th`:   "Nishiki market, th",
		`{"content": "a \"quoted\" word\nand`:      `a "quoted" word and`,
		`rest of a long text that goes on`:         "rest of a long text that goes on",
		`{"task_ids":[1,2]}`:                       "",
		`{"task_id`:                                "",
		`{"day":1,"content":"all of it"`:           "",
		`than many.","task_ids":[5,6]}`:            "",
		`he said \"a\": \"b\" and`:                 `he said "a": "b" and`,
		`{"message":"first","content":"second, an`: "second, an",
		`{"content":"broken in an escape\`:         "broken in an escape",
		``:                                         "",
	} {
		require.Equal(t, want, spoken(arguments), arguments)
	}
}
