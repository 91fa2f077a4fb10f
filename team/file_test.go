package team_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/document"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/team"
)

// small is the shortest team file; tests add what they are about.
const small = `name: small
specialists:
  - id: one
    description: does it
    prompt: do it
`

func TestParseFillsInEveryDefault(t *testing.T) {
	got, err := team.Parse("small.yaml", []byte(small))
	require.NoError(t, err)
	require.Equal(t, "Small", got.DisplayName)
	require.Equal(t, "{{request}}", got.Request)
	require.Equal(t, "Facilitator", got.Facilitator.DisplayName)
	require.Equal(t, "One", got.Specialists[0].DisplayName)
	require.Equal(t, document.KindFree, got.Document.Kind())
	require.Equal(t, team.DefaultLimits(), got.Limits)
}

// Proves R14: a domain that is not travel needs nothing but a team file.
func TestExampleTeamIsEnoughByItself(t *testing.T) {
	got, err := team.Load(filepath.Join("..", "examples", "teams", "launch.yaml"))
	require.NoError(t, err)
	require.Len(t, got.Specialists, 4)
	models := map[string]bool{got.Facilitator.Model: true}
	for _, s := range got.Specialists {
		require.NotEmpty(t, s.DisplayName, s.ID)
		require.NotEmpty(t, s.Description, s.ID)
		require.NotEmpty(t, s.Prompt, s.ID)
		models[s.Model] = true
	}
	require.Len(t, models, 2, "two models")
	require.Equal(t, document.KindSections, got.Document.Kind())
	slots := 0
	for _, section := range got.Document.Sections() {
		slots += len(section.Slots)
	}
	require.Positive(t, slots)
	require.Equal(t, 16, got.Limits.MaxTasks)
	require.Equal(t, 20*time.Minute, got.Limits.MaxTime)
	require.Equal(t, 60, got.Limits.MaxDispatches, "what the file does not say has its default")
}

func TestJSONIsYAML(t *testing.T) {
	got, err := team.Parse("team.json", []byte(`{"name": "j", "specialists": [
		{"id": "a", "description": "does it", "prompt": "line\nline \u00e9", "temperature": 0}]}`))
	require.NoError(t, err)
	require.Equal(t, "line\nline é", got.Specialists[0].Prompt)
	require.Zero(t, *got.Specialists[0].Temperature, "0 is a temperature, not a default")
}

func TestTextsReachTheTeamAsWritten(t *testing.T) {
	const prompt = "Ünïcode, עברית, 🧭 and\n  indentation: kept\n\n\"quotes\" # no comment\n"
	src := "name: texts\nspecialists:\n  - id: one\n    description: d\n    prompt: |\n      " +
		strings.ReplaceAll(strings.TrimSuffix(prompt, "\n"), "\n", "\n      ") + "\n"
	for _, ends := range []string{"\n", "\r\n"} {
		got, err := team.Parse("t.yaml", []byte("\xef\xbb\xbf"+strings.ReplaceAll(src, "\n", ends)))
		require.NoError(t, err)
		require.Equal(t, prompt, got.Specialists[0].Prompt)
	}
}

func TestAliasesAreWrittenOut(t *testing.T) {
	got, err := team.Parse("t.yaml", []byte(`name: aliases
specialists:
  - {id: a, description: d, prompt: p, fallback_models: &models [x/one, x/two]}
  - {id: b, description: d, prompt: p, fallback_models: *models}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"x/one", "x/two"}, got.Specialists[1].FallbackModels)
}

// A resumed run reads its team from the log: same team, same bytes.
func TestJSONRoundTripIsStable(t *testing.T) {
	for _, name := range team.BuiltinNames() {
		parsed, err := team.Builtin(name)
		require.NoError(t, err)
		requireStable(t, parsed)
	}
}

func requireStable(t *testing.T, parsed *team.Team) {
	t.Helper()
	first, err := json.Marshal(parsed)
	require.NoError(t, err)
	var read team.Team
	require.NoError(t, json.Unmarshal(first, &read))
	require.NoError(t, read.Validate())
	second, err := json.Marshal(read)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.Equal(t, parsed.Limits, read.Limits)
	require.Equal(t, parsed.Document, read.Document)
	require.Equal(t, parsed.Specialists, read.Specialists)
	require.Equal(t, parsed.Facilitator, read.Facilitator)
}

// Every problem has its place and says what to do next.
func TestProblemsOfAFile(t *testing.T) {
	specialist := func(lines string) string {
		return "name: n\nspecialists:\n  - id: one\n" + lines
	}
	for name, c := range map[string]struct {
		src  string
		want []string // each is the start of a line, and after " … " what it also says
	}{
		"wrong key": {
			specialist("    description: d\n    promt: p\n"),
			[]string{`f.yaml:5:5: unknown key "promt" in specialists[0]; did you mean "prompt"? … the keys here are id, display_name`},
		},
		"wrong key, nothing near": {
			small + "colour: red\n",
			[]string{`f.yaml:6:1: unknown key "colour"; the keys here are name, display_name, description`},
		},
		"key twice": {
			small + "name: other\n",
			[]string{`f.yaml:6:1: key "name" appears twice, first on line 1; remove one`},
		},
		"number for text": {
			specialist("    description: d\n    prompt: 42\n"),
			[]string{`f.yaml:5:13: specialists[0].prompt must be text, not a number; put 42 in quotes`},
		},
		"text for list": {
			specialist("    description: d\n    prompt: p\n    fallback_models: a/b\n"),
			[]string{`f.yaml:6:22: specialists[0].fallback_models must be a list, not text; write "- a/b"`},
		},
		"mapping for text": {
			specialist("    description: d\n    prompt:\n      a: b\n"),
			[]string{`f.yaml:5:5: specialists[0].prompt must be text, not a mapping`},
		},
		"key without value": {
			"name:\nspecialists: [{id: a, description: d, prompt: p}]\n",
			[]string{`f.yaml:1:6: name has no value; write text after the colon or remove the key`},
		},
		"text for the whole": {"hello", []string{`f.yaml:1:1: a team file is a mapping`}},
		"no name":            {"specialists: [{id: a, description: d, prompt: p}]", []string{`f.yaml:1:1: the team has no name; add one`}},
		"bad name":           {"name: Launch Desk\nspecialists: [{id: a, description: d, prompt: p}]", []string{`f.yaml:1:7: "Launch Desk" is no team name … for example "launch-desk"`}},
		"no specialists":     {"name: n\n", []string{`f.yaml:1:1: the team has no specialists; list at least one`}},
		"empty specialists":  {"name: n\nspecialists: []\n", []string{`f.yaml:2:1: the team has no specialists`}},
		"too many specialists": {
			"name: n\nspecialists:\n" + repeat(21, "  - {id: s%d, description: d, prompt: p}\n"),
			[]string{`f.yaml:2:1: the team has 21 specialists, 20 is the most`},
		},
		"specialist twice": {
			small + "  - id: one\n    display_name: Other\n    description: d\n    prompt: p\n",
			[]string{`f.yaml:6:9: specialist "one" is there twice, first as specialists[0]`},
		},
		"display name twice": {
			small + "  - id: two\n    display_name: one\n    description: d\n    prompt: p\n",
			[]string{`f.yaml:7:19: specialist "one" is called "one" too`},
		},
		"display name of the facilitator": {
			specialist("    display_name: Facilitator\n    description: d\n    prompt: p\n"),
			[]string{`f.yaml:4:19: the facilitator is called "Facilitator" too`},
		},
		"id that is no tool name": {
			"name: n\nspecialists: [{id: Price-Check, description: d, prompt: p}]\n",
			[]string{`f.yaml:2:20: "Price-Check" is no id … for example "price_check"`},
		},
		"no id":             {"name: n\nspecialists: [{description: d, prompt: p}]\n", []string{`f.yaml:2:15: a specialist without an id`}},
		"no prompt":         {specialist("    description: d\n"), []string{`f.yaml:3:5: the prompt is empty; tell the specialist`}},
		"blank prompt":      {specialist("    description: d\n    prompt: '  '\n"), []string{`f.yaml:5:13: the prompt is empty`}},
		"no description":    {specialist("    prompt: p\n"), []string{`f.yaml:3:5: the description is empty; say what`}},
		"long prompt":       {specialist("    description: d\n    prompt: " + strings.Repeat("pé", 64<<10) + "p" + "\n"), []string{`f.yaml:5:13: the text has 131073 characters, 131072 is the most`}},
		"lines in a name":   {small + "display_name: \"a\\nb\"\n", []string{`f.yaml:6:15: the text must be a single line`}},
		"model with spaces": {specialist("    description: d\n    prompt: p\n    model: gpt 5\n"), []string{`f.yaml:6:12: "gpt 5" is no model; write provider/name`}},
		"fallback is the model": {
			specialist("    description: d\n    prompt: p\n    model: a/b\n    fallback_models: [a/c, a/b]\n"),
			[]string{`f.yaml:7:28: model "a/b" is tried already before`},
		},
		"temperature":         {specialist("    description: d\n    prompt: p\n    temperature: 2.5\n"), []string{`f.yaml:6:18: temperature must be from 0 to 2, not 2.5`}},
		"temperature .nan":    {specialist("    description: d\n    prompt: p\n    temperature: .nan\n"), []string{`f.yaml:6:18: .nan is not used here`}},
		"tool twice":          {specialist("    description: d\n    prompt: p\n    tools: [a, b, a]\n"), []string{`f.yaml:6:19: tool "a" is listed twice`}},
		"tools as text":       {specialist("    description: d\n    prompt: p\n    tools: a\n"), []string{`f.yaml:6:12: specialists[0].tools must be a list, not text; write "- a"`}},
		"tools without value": {specialist("    description: d\n    prompt: p\n    tools:\n"), []string{`f.yaml:6:12: specialists[0].tools has no value`}},
		"handoff to nobody":   {small + "handoff: {targets: []}\n", []string{`f.yaml:6:11: nobody can take over; list specialists, such as "- agent: one"`}},
		"handoff to a stranger": {
			small + "handoff:\n  targets:\n    - agent: on\n    - {agent: one, triggers: [go, '…']}\n    - {agent: one}\n",
			[]string{
				`f.yaml:8:14: there is no specialist "on"; did you mean "one"?`, `f.yaml:9:35: "…" has no word; write a phrase`,
				`f.yaml:10:15: "one" is there twice; remove one`,
			},
		},
		"handoff of JSON": {
			small + "handoff: {targets: [{agent: one}], recent_message_count: 21}\nanswer_schema: {type: object}\n",
			[]string{`f.yaml:6:1: the answer of this team is JSON`, `f.yaml:6:58: 21 is out of range; write 0 to 20`},
		},
		"workflow states": {
			specialist("    description: d\n    prompt: p\n    workflow_states: [a, a, ' ']\n"),
			[]string{`f.yaml:6:26: state "a" is there twice`, `f.yaml:6:29: " " is no state; write 1 to 60 characters`},
		},
		"request without it":  {small + "request: Plan {{city}}\n", []string{`f.yaml:6:10: the template lacks {{request}}`}},
		"request placeholder": {small + "request: \"{{request}} {{My City}}\"\n", []string{`f.yaml:6:10: "{{My City}}" is no placeholder`}},
		"unknown layout":      {small + "document: {layout: travle}\n", []string{`f.yaml:6:20: unknown layout "travle"; did you mean "travel"?`}},
		"layout and sections": {small + "document: {layout: free, sections: [{id: a}]}\n", []string{`f.yaml:6:1: document has both layout and sections`}},
		"empty document":      {small + "document: {}\n", []string{`f.yaml:6:1: document has neither layout nor sections`}},
		"sections and slots": {
			small + "document:\n  sections:\n    - id: a\n      slots: [x, y, x]\n    - id: b c\n    - id: c\n      slots: [a/b]\n    - slot: [a]\n      id: d\n",
			[]string{
				`f.yaml:9:21: document.sections[0].slots[2]: "x" is already slots[0]`,
				`f.yaml:10:11: document.sections[1].id: "b c" may hold only`,
				`f.yaml:12:15: document.sections[2].slots[0]: "a/b" may hold only`,
				`f.yaml:13:7: unknown key "slot" in document.sections[3]; did you mean "slots"?`,
			},
		},
		"section twice": {
			small + "document:\n  sections:\n    - id: a\n    - id: A\n",
			[]string{`f.yaml:9:11: document.sections[1].id: "A" is already the id of sections[0]`},
		},
		"limits": {
			small + "limits:\n  max_tasks: 0\n  max_dispatches: -1\n  max_entries: 1.5\n  max_time: 90\n  specialist_timeout: soon\n  max_tokens: many\n  max_taks: 3\n  max_time: 1m\n",
			[]string{
				`f.yaml:7:14: max_tasks must be from 1 to 1000 tasks, not 0; leave it out for the default (20 tasks)`,
				`f.yaml:8:19: max_dispatches must be from 1 to 1000 dispatches, not -1`,
				`f.yaml:9:16: limits.max_entries must be a whole number, not 1.5`,
				`f.yaml:10:13: limits.max_time needs a unit: write "90s"`,
				`f.yaml:11:23: limits.specialist_timeout is no time: "soon"`,
				`f.yaml:12:15: limits.max_tokens must be a number, not text`,
				`f.yaml:13:3: unknown key "max_taks" in limits; did you mean "max_tasks"?`,
				`f.yaml:14:3: key "max_time" appears twice`,
			},
		},
		"limit over its maximum":        {small + "limits: {max_parallel_dispatches: 65}\n", []string{`f.yaml:6:35: max_parallel_dispatches must be from 1 to 64 dispatches, not 65`}},
		"limit beyond every number":     {small + "limits: {max_tasks: 1.0e+300}\n", []string{`f.yaml:6:21: limits.max_tasks must be a whole number`}},
		"silences out of order":         {small + "limits: {silence_slow: 200s}\n", []string{`f.yaml:6:24: silence_slow (3m20s) must be less than silence_timeout (2m)`}},
		"silence against a default":     {small + "limits: {silence_slow: 5s}\n", []string{`f.yaml:6:24: silence_notice (10s) must be less than silence_slow (5s)`}},
		"negative cost":                 {small + "limits: {max_cost_usd: -0.5}\n", []string{`f.yaml:6:24: max_cost_usd must be from $0 to $1000000, not $-0.5`}},
		"misspelt effort":               {small + "facilitator: {effort: hihg}\n", []string{`f.yaml:6:23: unknown effort "hihg"; did you mean "high"? the efforts are none, low, medium, high, max`}},
		"unknown tier":                  {small + "facilitator: {tier: gold}\n", []string{`f.yaml:6:21: unknown tier "gold"; the tiers are flex, standard, priority`}},
		"output limit":                  {small + "facilitator: {max_output_tokens: 3}\n", []string{`f.yaml:6:34: max_output_tokens must be from 16 to 1000000, not 3`}},
		"part of a token":               {small + "facilitator: {max_output_tokens: 99.5}\n", []string{`f.yaml:6:34: facilitator.max_output_tokens must be a whole number, not 99.5`}},
		"silence without a unit":        {small + "facilitator: {silence_timeout: 90}\n", []string{`f.yaml:6:32: facilitator.silence_timeout needs a unit: write "90s"`}},
		"no silence":                    {small + "facilitator: {silence_timeout: 0s}\n", []string{`f.yaml:6:32: facilitator.silence_timeout must be longer than 0, not 0s`}},
		"silence of days":               {small + "facilitator: {silence_timeout: 90h}\n", []string{`f.yaml:6:32: silence_timeout must be from 1s to 24h, not 90h`}},
		"tab":                           {"name: n\nspecialists:\n\t- id: a\n", []string{`f.yaml:3:1: not valid YAML … replace the tab`}},
		"open quote":                    {"name: 'n\n", []string{`f.yaml:1:7: not valid YAML`}},
		"open bracket":                  {"name: n\nspecialists: [\n", []string{`f.yaml:2:14: not valid YAML`}},
		"reserved character":            {"name: @n\n", []string{`f.yaml:1:7: not valid YAML … put the text in quotes`}},
		"two documents":                 {small + "---\n" + small, []string{`f.yaml:7:5: a second YAML document`}},
		"empty":                         {" \n", []string{"f.yaml: the file is empty; `convene team init` writes one"}},
		"only a comment":                {"# nothing\n", []string{"f.yaml: the file says nothing"}},
		"NUL":                           {"name: n\nx: a\x00b\n", []string{`f.yaml:2:5: a NUL byte`}},
		"invalid UTF-8":                 {"name: n\nx: é\xff\n", []string{`f.yaml:2:5: byte 0xff is not valid UTF-8`}},
		"escaped NUL":                   {small + "description: \"a\\0b\"\n", []string{`f.yaml:6:14: the text is not valid UTF-8 or holds a NUL byte`}},
		"too large":                     {small + strings.Repeat("# comment\n", 110_000), []string{`f.yaml: the file has more than 1048576 bytes (1 MiB)`}},
		"too many tokens":               {"name: n\nx: [" + strings.Repeat("a,", 20_000) + "]\n", []string{`f.yaml:2:19999: the file has more than 20000 YAML tokens`}},
		"deep brackets":                 {"name: " + strings.Repeat("[ ", 500), []string{`f.yaml:1:71: brackets nest more than 32 deep`}},
		"blank lines without end":       {"name: |\n  n" + strings.Repeat("\n", 1_000_000) + "x: 1\n", []string{`f.yaml:103:1: more than 100 blank lines in a row; remove some`}},
		"one character without end":     {strings.Repeat("<", 1_000_000), []string{`f.yaml:1:1001: '<' more than 1000 times in a row`}},
		"a text as large as can be":     {"name: |\n" + strings.Repeat("  line\n\n", 128_000) + "specialists: 1\n", []string{`f.yaml:1:7: "line`, `f.yaml:256002:14: specialists must be a list, not a number`}},
		"deep list":                     {"name: n\nx:\n" + strings.Repeat("- ", 9_000) + "a\n", []string{`f.yaml:3:201: a key or list item in column 201`}},
		"deep blocks":                   {"name: n\nx:\n" + deepBlocks(60), []string{`f.yaml:35:35: values nest more than 32 deep`}},
		"aliases that multiply":         {bomb(), []string{`f.yaml:5:10: the file has more than 20000 values, its aliases written out`}},
		"alias within its own anchor":   {"name: n\nspecialists: &a [*a]\n", []string{`f.yaml:2:18: alias *a stands within its own anchor`}},
		"alias without an anchor":       {"name: *nobody\n", []string{`f.yaml:1:7: alias *nobody has no anchor`}},
		"merge key":                     {"a: &a {name: n}\n<<: *a\n", []string{`f.yaml:2:1: merge keys (<<) are not used`}},
		"tag":                           {"name: !!binary aGk=\n", []string{`f.yaml:1:7: tags such as !!binary are not used`}},
		"key that is a list":            {"? [a, b]\n: c\n", []string{`f.yaml:2:1: not valid YAML: found an invalid key for this map`}},
		"reserved ids are all refused":  {"name: n\nspecialists:\n" + reserved(), []string{`f.yaml:3:10: "all" is reserved, as are facilitator`, `f.yaml:4:10: "facilitator" is`, `f.yaml:5:10: "human" is`, `f.yaml:6:10: "router" is`, `f.yaml:7:10: "system" is`, `f.yaml:8:10: "tool" is`, `f.yaml:9:10: "user" is`}},
		"several problems at once":      {"nam: n\nspecialists:\n  - id: user\n    prompt: 7\n", []string{`f.yaml:1:1: unknown key "nam"; did you mean "name"?`, `f.yaml:3:5: the description is empty`, `f.yaml:3:9: "user" is reserved`, `f.yaml:4:13: specialists[0].prompt must be text`}},
		"problems of a list in a place": {"name: n\nspecialists: [5, {id: a, description: d, prompt: p}]\n", []string{`f.yaml:2:15: specialists[0] must be a mapping, not a number`}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := team.Parse("f.yaml", []byte(c.src))
			// What blows up takes minutes; a busy machine with the race detector, some seconds.
			require.Less(t, time.Since(start), time.Minute)
			var file *team.FileError
			require.ErrorAs(t, err, &file)
			require.Len(t, file.Problems, len(c.want), "%v", err)
			for i, line := range strings.Split(err.Error(), "\n") {
				begin, also, _ := strings.Cut(c.want[i], " … ")
				require.True(t, strings.HasPrefix(line, begin), "%s\nshould begin %s", line, begin)
				require.Contains(t, line, also)
			}
		})
	}
}

func repeat(n int, line string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, line, i)
	}
	return out.String()
}

func reserved() string {
	var out strings.Builder
	for _, id := range team.ReservedIDs() {
		fmt.Fprintf(&out, "  - {id: %s, display_name: %s s, description: d, prompt: p}\n", id, id)
	}
	return out.String()
}

func deepBlocks(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(strings.Repeat(" ", i+1) + "k:\n")
	}
	return out.String()
}

// bomb is a few hundred bytes that mean a billion values.
func bomb() string {
	var out strings.Builder
	out.WriteString("name: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&out, "k%d: &a%d [%s*a%d]\n", i, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return out.String()
}

func TestAFileOfProblemsIsCut(t *testing.T) {
	_, err := team.Parse("f.yaml", []byte(small+repeat(80, "wrong%d: 1\n")))
	var file *team.FileError
	require.ErrorAs(t, err, &file)
	require.Len(t, file.Problems, team.MaxProblems)
	require.Equal(t, 30, file.Omitted)
	require.True(t, strings.HasSuffix(err.Error(), "… and 30 more"))
}

func TestLocate(t *testing.T) {
	parsed, err := team.Parse("f.yaml", []byte(small+"limits: {max_tasks: 3}\n"))
	require.NoError(t, err)
	for path, want := range map[string][2]int{
		"specialists[0].prompt":        {5, 13},
		"specialists[0].model":         {3, 5}, // not there: the specialist
		"specialists[7].id":            {2, 1},
		"limits.max_tasks":             {6, 21},
		"pipeline.stages[0]":           {1, 1},
		"specialists[0].description.x": {4, 18},
	} {
		line, column := parsed.Locate(path)
		require.Equal(t, want, [2]int{line, column}, path)
	}
	line, column := (&team.Team{}).Locate("name")
	require.Zero(t, line+column, "a team that was built in Go has no file")
}

func TestATeamBuiltInGoIsChecked(t *testing.T) {
	built := team.Team{Name: "go", Specialists: []team.Specialist{{ID: "one", Description: "d", Prompt: "p"}}}.WithDefaults()
	require.NoError(t, built.Validate())
	built.Specialists[0].ID = "system"
	built.Limits.MaxTasks = -1
	err := built.Validate()
	var file *team.FileError
	require.ErrorAs(t, err, &file)
	require.Len(t, file.Problems, 2)
	require.ErrorContains(t, err, `specialists[0].id: "system" is reserved`)
	require.ErrorContains(t, err, `limits.max_tasks: max_tasks must be from 1 to 1000 tasks, not -1`)
}

func TestLoadTellsWhichFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	_, err := team.Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, []byte("nam: x\n"), 0o600))
	_, err = team.Load(path)
	require.ErrorContains(t, err, path+`:1:1: unknown key "nam"`)
	require.NoError(t, os.WriteFile(path, make([]byte, 3<<20), 0o600))
	_, err = team.Load(path)
	require.ErrorContains(t, err, "more than 1048576 bytes")
	_, err = team.Load(t.TempDir())
	require.Error(t, err)
	require.False(t, errors.Is(err, os.ErrNotExist))
}

func TestAPIOfAModel(t *testing.T) {
	got, err := team.Parse("f.yaml", []byte("name: x\nfacilitator: {model: openai/m, api: chat}\nspecialists:\n  - {id: a, description: d, prompt: p, api: responses}\n"))
	require.NoError(t, err)
	require.Equal(t, events.APIChat, got.Facilitator.API)
	require.Equal(t, events.APIResponses, got.Specialists[0].API)
	_, err = team.Parse("f.yaml", []byte("name: x\nspecialists:\n  - {id: a, description: d, prompt: p, api: soap}\n"))
	require.ErrorContains(t, err, `"soap" is no API; write responses, messages or chat`)
}
