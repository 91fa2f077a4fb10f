package runner_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

const structuredTeam = `
name: judge
answer_schema:
  type: object
  required: [verdict, score]
  additionalProperties: false
  properties:
    verdict: {type: string, enum: [good, bad]}
    score: {type: integer, minimum: 0, maximum: 10}
specialists:
  - id: reader
    description: Reads.
    prompt: Read.
`

// Proves R72: an answer that fits the team's schema is data; one that does not is
// corrected once, otherwise it fails the run.
func TestStructuredAnswer(t *testing.T) {
	judge, err := team.Parse("judge.yaml", []byte(structuredTeam))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		answers []string
		status  events.Status
		data    string
	}{
		"at once":        {[]string{`{"verdict":"good","score":7}`}, events.StatusCompleted, `{"score":7,"verdict":"good"}`},
		"in a fence":     {[]string{"```json\n{\"verdict\":\"bad\",\"score\":0}\n```"}, events.StatusCompleted, `{"score":0,"verdict":"bad"}`},
		"corrected":      {[]string{"It is good.", `{"verdict":"good","score":7}`}, events.StatusCompleted, `{"score":7,"verdict":"good"}`},
		"never":          {[]string{`{"verdict":"good","score":70}`, `{"verdict":"fine"}`}, events.StatusFailed, ""},
		"text after all": {[]string{"good", "still good"}, events.StatusFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []llmtest.Step
			for _, answer := range test.answers {
				steps = append(steps, llmtest.Says(answer))
			}
			client := llmtest.Script(t, llmtest.Agent("", steps...))
			run, err := newRunner(t, events.NewMemory(), client).Start(t.Context(), runner.Job{Request: "Judge it", Team: judge, Solo: true})
			require.NoError(t, err)
			result, err := run.Wait()
			require.NoError(t, err)
			require.Equal(t, test.status, result.Status, result.Reason)
			require.Equal(t, test.data, string(result.Data))
			if test.data == "" {
				require.Equal(t, "answer_schema", result.Failure.Code)
				require.Contains(t, result.Reason, "the answer")
			}
			requests := client.Requests("")
			require.Contains(t, requests[0].Messages[0].Content, `"enum":["good","bad"]`, "the model is told the schema")
			if len(requests) > 1 {
				last := requests[1].Messages[len(requests[1].Messages)-1]
				require.Contains(t, last.Content, "Answer again, with one JSON value")
			}
		})
	}
}

func TestAnswerSchemaMustBeOne(t *testing.T) {
	for text, complaint := range map[string]string{
		"answer_schema: yes please":          "must be a mapping",
		"answer_schema: {type: 7}":           "is no JSON Schema",
		"answer_schema: {$ref: '#/nowhere'}": "is no JSON Schema",
	} {
		_, err := team.Parse("t.yaml", []byte("name: n\nspecialists: [{id: a, description: d, prompt: p}]\n"+text+"\n"))
		require.ErrorContains(t, err, complaint)
		require.ErrorContains(t, err, "t.yaml:3:")
	}
}

// The simulated model answers under the schema of any team, alone and with specialists.
func TestSimulatedAnswerFitsAnySchema(t *testing.T) {
	for name, schema := range map[string]string{
		"object": `{type: object, required: [verdict], properties: {verdict: {enum: [good, bad]}, reasons: {type: array, minItems: 2, uniqueItems: true, items: {type: string, minLength: 3}}}}`,
		"number": `{type: number, exclusiveMinimum: 0.5, maximum: 0.75}`,
		"tree":   `{$ref: '#/$defs/n', $defs: {n: {type: object, required: [kids], unevaluatedProperties: false, properties: {kids: {type: array, items: {$ref: '#/$defs/n'}}}}}}`,
		"choice": `{oneOf: [{type: object, required: [a], not: {required: [b]}}, {type: string, pattern: '^[A-Z]{3}-\d+$'}], type: string}`,
	} {
		for _, solo := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s solo %v", name, solo), func(t *testing.T) {
				tm, err := team.Parse("t.yaml", []byte("name: n\nspecialists: [{id: a, description: d, prompt: p}]\nanswer_schema: "+schema+"\n"))
				require.NoError(t, err)
				for _, options := range []sim.Options{{}, {Chunks: 50}} {
					run, err := newRunner(t, events.NewMemory(), sim.New(options)).Start(t.Context(), runner.Job{Request: "Judge it", Team: tm, Solo: solo})
					require.NoError(t, err)
					result, err := run.Wait()
					require.NoError(t, err)
					require.Equal(t, events.StatusCompleted, result.Status, result.Reason)
					require.NotEmpty(t, result.Data)
				}
			})
		}
	}
}
