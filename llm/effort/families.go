package effort

import (
	"slices"
	"strconv"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// family are models that take the same words.
type family struct {
	models *lazyregexp.Regexp
	// words are those of the provider; none of them if the model cannot be steered.
	words []string
	// still says that the models do not think at all: the level none asks for nothing.
	still bool
	// unsampled models refuse a temperature while they think.
	unsampled bool
}

// word gives the word for a level, and whether the models take it.
func (f *family) word(level string) (string, bool) {
	if f.still {
		return "", level == None
	}
	if level == "max" {
		for _, word := range strongest {
			if slices.Contains(f.words, word) {
				return word, true
			}
		}
	}
	if slices.Contains(f.words, level) {
		return level, true
	}
	return "", false
}

func thinks(models, words string) family {
	return family{models: lazyregexp.New(models), words: strings.Fields(words)}
}

func openAI(models, words string) family {
	f := thinks(models, words)
	f.unsampled = true
	return f
}

func still(models string) family {
	return family{models: lazyregexp.New(models), still: true}
}

// families are looked up in this order, by the bare name of the model. Claude goes by
// its generation, see [claude]. Sources: developers.openai.com/api/docs/guides/reasoning
// and the refusals that name what is supported; docs.x.ai, reasoning; ai.google.dev,
// OpenAI compatibility; api-docs.deepseek.com, thinking mode; docs.z.ai, thinking mode;
// github.com/anomalyco/models.dev;
// platform.kimi.ai, thinking effort.
var families = []family{
	still(`^gpt-5(\.3)?-chat`),
	openAI(`^gpt-5\.\d+-chat`, "medium"),
	openAI(`^gpt-5-pro`, "high"),
	openAI(`^gpt-5\.[2-5]-pro`, "medium high xhigh"),
	openAI(`^gpt-5\.(1-codex-max|[23]-codex)`, "low medium high xhigh"),
	openAI(`^gpt-5(\.1)?-codex`, "low medium high"),
	openAI(`^gpt-5\.1\b`, "none low medium high"),
	openAI(`^gpt-5\.[2-5]\b`, "none low medium high xhigh"),
	openAI(`^gpt-5\.6\b`, "none low medium high xhigh max"),
	openAI(`^gpt-5(-mini|-nano|-\d|$)`, "minimal low medium high"),
	thinks(`^gpt-oss`, "low medium high"),
	still(`^o1-(mini|preview)`),
	openAI(`^o[34](-mini)?-deep-research`, "medium"),
	openAI(`^o[134]\b`, "low medium high"),
	still(`^(gpt-[34]|chatgpt)`),

	thinks(`^grok-3-mini`, "low high"),
	still(`^grok-([23](-|$)|.*non-reasoning)`),
	thinks(`^grok-4\.3\b`, "none low medium high"),
	thinks(`^grok-4\.5\b`, "low medium high"),
	thinks(`^grok-4\.20-multi-agent`, "low medium high xhigh"),
	thinks(`^grok-(4(-|$)|4\.(1|20)-|code|build)`, ""),

	still(`^gemini-(1|2\.0)`),
	thinks(`^gemini-2\.5-flash`, "none low medium high"),
	thinks(`^gemini-2\.5-pro`, "low medium high"),
	thinks(`^gemini-3(\.\d)?-flash`, "minimal low medium high"),
	thinks(`^gemini-3-pro`, "low high"),
	thinks(`^gemini-3\.\d-pro`, "low medium high"),

	thinks(`^deepseek-v4`, "none low medium high max"),
	thinks(`^glm-(4\.[5-9]|5(\.1)?(-|$)|5v)`, "none high"),
	thinks(`^glm-5\.2\b`, "none low medium high max"),
	thinks(`^glm-5\.3\b`, "low high max"),
	thinks(`^kimi-k2\.[56]`, "none high"),
	thinks(`^kimi-k2(\.7|-thinking)`, ""),
	thinks(`^kimi-k3`, "low high max"),
}

// bare is the name of a model without whoever serves it: "gpt-5" of "openai/gpt-5".
func bare(model string) string {
	return strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
}

func familyOf(model string) *family {
	name := bare(model)
	if generation := Generation(name); generation > 0 {
		return claude(name, generation)
	}
	for i := range families {
		if families[i].models.MatchString(name) {
			return &families[i]
		}
	}
	return nil
}

// The generations of Claude between which thinking differs.
// https://platform.claude.com/docs/en/build-with-claude/effort
const (
	firstThinking = 37
	newestKnown   = 55
)

// claude gives what a model of that generation takes. Those before 4.6 are given a
// budget of tokens for the word.
func claude(name string, generation int) *family {
	switch {
	case generation < firstThinking:
		return &family{still: true}
	case generation > newestKnown:
		return nil
	case alwaysThinks(name, generation):
		return &family{words: []string{"low", "medium", "high", "max"}}
	}
	return &family{words: []string{None, "low", "medium", "high", "max"}}
}

func alwaysThinks(name string, generation int) bool {
	return strings.Contains(name, "fable") || strings.Contains(name, "mythos") || strings.Contains(name, "opus") && generation >= 55
}

// ClaudeOff is the type of thinking by which a model of Claude is told not to think; ""
// where it does not think unless it is told to.
func ClaudeOff(model string) string {
	name := bare(model)
	switch generation := Generation(name); {
	case generation < 50:
		return ""
	case generation >= 55 && strings.Contains(name, "sonnet"):
		return "between_tools"
	}
	return "disabled"
}

// Generation is the version in the name of a model of Claude, in tenths: 46 for
// claude-opus-4-6; 0 where it has none, and for other models.
func Generation(model string) int {
	_, name, isClaude := strings.Cut(bare(model), "claude-")
	if !isClaude {
		return 0
	}
	fields := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' })
	for ; len(fields) > 0; fields = fields[1:] {
		major, err := strconv.Atoi(fields[0])
		if err != nil || major > 99 {
			continue
		}
		minor := 0
		if len(fields) > 1 {
			if n, err := strconv.Atoi(fields[1]); err == nil && n < 10 {
				minor = n
			}
		}
		return major*10 + minor
	}
	return 0
}
