package messages

import "github.com/convene-run/convene/llm/effort"

// What differs between models, by their generation.
// https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
const (
	// defaultMaxTokens bounds a reply where nobody does: every model since generation
	// 3.7 may write as much, and only what is written is paid.
	defaultMaxTokens = 32000
	// maxTokens35 and maxTokens3 are what older models take at most.
	maxTokens35 = 8192
	maxTokens3  = 4096
	// minBudgetTokens is the smallest budget for thinking that the API takes.
	minBudgetTokens = 1024
)

// adaptive reports whether a model decides itself how much it thinks, steered by an
// effort; older ones take a budget.
func adaptive(model string) bool { return effort.Generation(model) >= 46 }

// sampled reports whether a model takes a temperature.
func sampled(model string) bool {
	return effort.Generation(model) < 47
}

// outputLimit is max_tokens, which the API requires.
func outputLimit(model string, asked int) int {
	switch g := effort.Generation(model); {
	case asked > 0:
		return asked
	case g >= 35 && g < 37:
		return maxTokens35
	case g > 0 && g < 35:
		return maxTokens3
	}
	return defaultMaxTokens
}

// budgets are the tokens for thinking of models that take a budget, by effort.
var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16384, "max": 24576}

// budget is how many tokens of the limit may be thought; 0 is no thinking.
func budget(model, level string, limit int) int {
	if g := effort.Generation(model); g > 0 && g < 37 {
		return 0 // the first that thinks is 3.7
	}
	tokens := min(budgets[level], limit/2)
	if tokens < minBudgetTokens {
		return 0
	}
	return tokens
}
