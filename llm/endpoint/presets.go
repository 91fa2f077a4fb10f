package endpoint

import (
	"net/http"
	"strings"

	"github.com/convene-run/convene/llm/openai"
)

// preset is what is known of a provider.
type preset struct {
	name string
	// baseURL is the provider's address; baseVars are environment variables that
	// replace it.
	baseURL  string
	baseVars []string
	// keyVars are the environment variables that hold the key, the first set counts.
	// Only a keyless provider works without.
	keyVars []string
	keyless bool
	// hosts recognise the provider in a base URL by the end of its host name.
	hosts []string
	// example is a model's name for error texts.
	example string
	// quirks are what its endpoint wants otherwise than others.
	quirks openai.Config
}

// simProvider is the simulated model, which has no address.
const simProvider = "sim"

// presets are the providers that people can name, in the order of error texts.
var presets = []preset{
	{
		name: "openai", baseURL: "https://api.openai.com/v1", keyVars: []string{"OPENAI_API_KEY"},
		hosts: []string{"api.openai.com"}, example: defaultOpenAIModel,
		quirks: openai.Config{OutputLimitField: "max_completion_tokens", PublishedOnly: true},
	},
	{
		name: "azure", baseVars: []string{"AZURE_OPENAI_ENDPOINT"}, keyVars: []string{"AZURE_OPENAI_API_KEY"},
		hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, example: "YOUR-DEPLOYMENT",
		quirks: openai.Config{KeyHeader: "api-key", OutputLimitField: "max_completion_tokens", PublishedOnly: true},
	},
	{
		name: "anthropic", baseURL: "https://api.anthropic.com/v1", keyVars: []string{"ANTHROPIC_API_KEY"},
		hosts: []string{"api.anthropic.com"}, example: "claude-sonnet-4-5",
		quirks: openai.Config{Header: http.Header{"Anthropic-Version": {"2023-06-01"}}},
	},
	{
		name: "gemini", baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		hosts: []string{"generativelanguage.googleapis.com"}, example: "gemini-2.5-flash",
	},
	{
		name: "openrouter", baseURL: "https://openrouter.ai/api/v1", keyVars: []string{"OPENROUTER_API_KEY"},
		hosts: []string{"openrouter.ai"}, example: "anthropic/claude-sonnet-4.5",
		quirks: openai.Config{Header: http.Header{"X-Title": {"convene"}}},
	},
	{
		name: "groq", baseURL: "https://api.groq.com/openai/v1", keyVars: []string{"GROQ_API_KEY"},
		hosts: []string{"api.groq.com"}, example: "llama-3.3-70b-versatile",
		quirks: openai.Config{PublishedOnly: true},
	},
	{
		name: "mistral", baseURL: "https://api.mistral.ai/v1", keyVars: []string{"MISTRAL_API_KEY"},
		hosts: []string{"api.mistral.ai"}, example: "mistral-medium-latest",
		quirks: openai.Config{PublishedOnly: true, ShortCallIDs: true},
	},
	{
		name: "deepseek", baseURL: "https://api.deepseek.com/v1", keyVars: []string{"DEEPSEEK_API_KEY"},
		hosts: []string{"api.deepseek.com"}, example: "deepseek-chat",
		quirks: openai.Config{ReasoningField: "reasoning_content"},
	},
	{
		name: "together", baseURL: "https://api.together.xyz/v1", keyVars: []string{"TOGETHER_API_KEY"},
		hosts: []string{"api.together.xyz", "api.together.ai"}, example: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
	},
	{
		name: "xai", baseURL: "https://api.x.ai/v1", keyVars: []string{"XAI_API_KEY"},
		hosts: []string{"api.x.ai"}, example: "grok-4",
	},
	{
		name: "ollama", baseURL: "http://127.0.0.1:11434/v1", baseVars: []string{"OLLAMA_HOST"}, keyVars: []string{"OLLAMA_API_KEY"},
		keyless: true, example: "qwen3",
	},
	{
		name: "lmstudio", baseURL: "http://127.0.0.1:1234/v1", baseVars: []string{"LMSTUDIO_BASE_URL"}, keyVars: []string{"LMSTUDIO_API_KEY"},
		keyless: true, example: "openai/gpt-oss-20b",
	},
	{
		name: "vllm", baseURL: "http://127.0.0.1:8000/v1", baseVars: []string{"VLLM_BASE_URL"}, keyVars: []string{"VLLM_API_KEY"},
		keyless: true, example: "Qwen/Qwen3-8B",
		quirks: openai.Config{ReasoningField: "reasoning_content"},
	},
	{
		name: "llamacpp", baseURL: "http://127.0.0.1:8080/v1", baseVars: []string{"LLAMACPP_BASE_URL"}, keyVars: []string{"LLAMACPP_API_KEY"},
		keyless: true, example: "default",
		quirks: openai.Config{ReasoningField: "reasoning_content"},
	},
}

// defaultOpenAIModel is asked where only a key of OpenAI is set: a small model
// that calls tools well.
const defaultOpenAIModel = "gpt-5-mini"

func presetNamed(name string) *preset {
	for i := range presets {
		if presets[i].name == name {
			return &presets[i]
		}
	}
	return nil
}

// presetAt recognises the provider that serves at a host.
func presetAt(host string) *preset {
	for i := range presets {
		for _, known := range presets[i].hosts {
			if host == known || strings.HasSuffix(host, known) && strings.HasPrefix(known, ".") {
				return &presets[i]
			}
		}
	}
	return nil
}

// Providers lists the names that may stand before the slash of a model.
func Providers() []string {
	names := make([]string, 0, len(presets)+1)
	for i := range presets {
		names = append(names, presets[i].name)
	}
	return append(names, simProvider)
}
