package sanitize_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-run/convene/sanitize"
)

// Proves R61 for log lines and webhooks: texts within JSON are masked, and its form stays.
func TestMaskJSON(t *testing.T) {
	finder := new(sanitize.Detector)
	for body, want := range map[string]string{
		`{"b":"Write to ann@example.org","a":[1,"4111111111111111",{"token":"abc","n":7}]}`: `{"b":"Write to [EMAIL]","a":[1,"[CARD]",{"token":"[KEY]","n":7}]}`,
		`{"m":"<a>\nann@example.org\u00e9"}`:                                                `{"m":"<a>\n[EMAIL]"}`,
		`{"args":"{\"x\":\"a\\nann@example.org\"}"}`:                                        `{"args":"{\"x\":\"a\\n[EMAIL]\"}"}`,
		`{"ann@example.org":1, "seq" : 4111111111111111, "x":""}`:                           `{"ann@example.org":1, "seq" : 4111111111111111, "x":""}`,
		`{"password" : "hunter2"} {"a":"b"}`:                                                `{"password" : "[PASSWORD]"} {"a":"b"}`,
		`{"broken":"ann@example.org`:                                                        `{"broken":"[EMAIL]`,
		`{"m":"cvn_k3dq7zx2ab_QWERTYUIOPASDFGHJKLZXCV234 is mine"}`:                         `{"m":"[KEY] is mine"}`,
		"": "",
	} {
		require.Equal(t, want, string(sanitize.MaskJSON(finder, []byte(body))), body)
	}
	var out bytes.Buffer
	logger := zerolog.New(sanitize.Lines{To: &out, Finder: finder})
	logger.Info().Str("error", "no mailbox ann@example.org, password: hunter2").Int("status", 404).Msg("refused K-1")
	require.Equal(t, `{"level":"info","error":"no mailbox [EMAIL], password: [PASSWORD]","status":404,"message":"refused K-1"}`+"\n", out.String())
}

// What is JSON stays JSON, with the same members in the same order.
func TestMaskJSONKeepsTheForm(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"ann@example.org", "password: x1y2z3", `\"ann@example.org\n`, "{\"a\":\"b\"}", "4111 1111 1111 1111"}))
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{texts.Draw(t, "name"): texts.Draw(t, "text"), "list": rapid.SliceOf(texts).Draw(t, "list"), "n": 1.5}
		body, err := json.Marshal(value)
		require.NoError(t, err)
		var back map[string]any
		require.NoError(t, json.Unmarshal(sanitize.MaskJSON(new(sanitize.Detector), body), &back))
		require.Len(t, back, len(value))
		require.Len(t, back["list"], len(value["list"].([]string)))
	})
}
