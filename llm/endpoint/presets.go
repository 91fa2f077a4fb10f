package endpoint

import (
	"context"
	"net/http"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/openai"
	"github.com/convene-run/convene/llm/wire"
)

// preset is what is known of a provider.
type preset struct {
	// api is the one that it is usually asked by. Defaults to chat completions.
	api  events.API
	name string
	// baseURL is the provider's address, with variables of the environment in it as
	// ${NAME}; baseVars are variables that replace it.
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
	// anonymous keeps what else the environment says of an account from being sent.
	anonymous bool
	// configured says that somebody set where it is or whose key it takes; keyCommand
	// gives that key where no variable does.
	configured bool
	keyCommand func(context.Context) (string, error)
	// quirks are what its endpoint wants otherwise than others.
	quirks openai.Config
}

// simProvider is the simulated model, which has no address.
const simProvider = "sim"

// The words of providers for their service tiers. Anthropic's priority is capacity that
// was bought beforehand, and used where there is any.
var (
	openAITiers    = map[llm.Tier]string{llm.TierFlex: "flex", llm.TierStandard: "default", llm.TierPriority: "priority"}
	azureTiers     = map[llm.Tier]string{llm.TierStandard: "default", llm.TierPriority: "priority"}
	anthropicTiers = map[llm.Tier]string{llm.TierStandard: "standard_only", llm.TierPriority: "auto"}
)

// presets are the providers that people can name, in the order of error texts.
var presets = []preset{
	{
		name: "openai", baseURL: "https://api.openai.com/v1", keyVars: []string{"OPENAI_API_KEY"},
		hosts: []string{"api.openai.com"}, example: defaultOpenAIModel, api: events.APIResponses,
		quirks: openai.Config{Config: wire.Config{Tiers: openAITiers}, OutputLimitField: "max_completion_tokens", PublishedOnly: true, TakesCacheKey: true},
	},
	{
		name: "azure", baseVars: []string{"AZURE_OPENAI_ENDPOINT"}, keyVars: []string{"AZURE_OPENAI_API_KEY"},
		hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"}, example: "YOUR-DEPLOYMENT",
		quirks: openai.Config{Config: wire.Config{KeyHeader: "api-key", Tiers: azureTiers}, OutputLimitField: "max_completion_tokens", PublishedOnly: true, TakesCacheKey: true},
	},
	{
		name: "anthropic", baseURL: "https://api.anthropic.com/v1", keyVars: []string{"ANTHROPIC_API_KEY"},
		hosts: []string{"api.anthropic.com"}, example: defaultAnthropicModel, api: events.APIMessages,
		quirks: openai.Config{Config: wire.Config{Tiers: anthropicTiers}},
	},
	{
		name: "gemini", baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		hosts: []string{"generativelanguage.googleapis.com"}, example: "gemini-2.5-flash",
	},
	{
		name: "openrouter", baseURL: "https://openrouter.ai/api/v1", keyVars: []string{"OPENROUTER_API_KEY"},
		hosts: []string{"openrouter.ai"}, example: "anthropic/claude-sonnet-5",
		quirks: openai.Config{Config: wire.Config{Header: http.Header{"X-Title": {"convene"}}}, ClaudeCache: true, ChargesUSD: true, Thinking: openai.ThinkingObject},
	},
	{
		name: "groq", baseURL: "https://api.groq.com/openai/v1", keyVars: []string{"GROQ_API_KEY"},
		hosts: []string{"api.groq.com"}, example: "llama-3.3-70b-versatile",
		quirks: openai.Config{PublishedOnly: true},
	},
	{
		name: "mistral", baseURL: "https://api.mistral.ai/v1", keyVars: []string{"MISTRAL_API_KEY"},
		hosts: []string{"api.mistral.ai"}, example: "mistral-medium-latest",
		quirks: openai.Config{PublishedOnly: true, ShortCallIDs: true, TakesCacheKey: true},
	},
	{
		name: "deepseek", baseURL: "https://api.deepseek.com/v1", keyVars: []string{"DEEPSEEK_API_KEY"},
		hosts: []string{"api.deepseek.com"}, example: "deepseek-v4-flash",
		quirks: openai.Config{ReasoningField: "reasoning_content", Thinking: openai.ThinkingSwitch},
	},
	{
		name: "together", baseURL: "https://api.together.xyz/v1", keyVars: []string{"TOGETHER_API_KEY"},
		hosts: []string{"api.together.xyz", "api.together.ai"}, example: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
	},
	{
		name: "xai", baseURL: "https://api.x.ai/v1", keyVars: []string{"XAI_API_KEY"},
		hosts: []string{"api.x.ai"}, example: "grok-4", api: events.APIResponses,
	},
	{
		name: "moonshot", baseURL: "https://api.moonshot.ai/v1", keyVars: []string{"MOONSHOT_API_KEY"},
		hosts: []string{"api.moonshot.ai", "api.moonshot.cn"}, example: "kimi-k2.5",
		quirks: openai.Config{ReasoningField: "reasoning_content", Thinking: openai.ThinkingSwitch},
	},
	{
		name: "zai", baseURL: "https://api.z.ai/api/paas/v4", keyVars: []string{"ZAI_API_KEY"},
		hosts: []string{"api.z.ai"}, example: "glm-4.7",
		quirks: openai.Config{Thinking: openai.ThinkingSwitch},
	},
	{
		name: "cerebras", baseURL: "https://api.cerebras.ai/v1", keyVars: []string{"CEREBRAS_API_KEY"},
		hosts: []string{"api.cerebras.ai"}, example: "gpt-oss-120b",
	},
	{
		name: "fireworks", baseURL: "https://api.fireworks.ai/inference/v1", keyVars: []string{"FIREWORKS_API_KEY"},
		hosts: []string{"api.fireworks.ai"}, example: "accounts/fireworks/models/gpt-oss-120b",
		quirks: openai.Config{Config: wire.Config{Tiers: map[llm.Tier]string{llm.TierPriority: "priority"}}},
	},
	{
		name: "bedrock", baseURL: "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1", baseVars: []string{"BEDROCK_BASE_URL"},
		keyVars: []string{"AWS_BEARER_TOKEN_BEDROCK"}, example: "openai.gpt-oss-120b-1:0",
	},
	{
		name: "vertex", baseURL: "https://${GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/${GOOGLE_CLOUD_PROJECT}/locations/${GOOGLE_CLOUD_LOCATION}/endpoints/openapi",
		baseVars: []string{"VERTEX_BASE_URL"}, keyVars: []string{"VERTEX_ACCESS_TOKEN"}, example: "google/gemini-2.5-flash",
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
	},
	{
		name: "llamacpp", baseURL: "http://127.0.0.1:8080/v1", baseVars: []string{"LLAMACPP_BASE_URL"}, keyVars: []string{"LLAMACPP_API_KEY"},
		keyless: true, example: "default",
	},
}

// defaultOpenAIModel is asked where only a key of OpenAI is set: a small model
// that calls tools well.
const defaultOpenAIModel = "gpt-5-mini"

// defaultAnthropicModel is asked where only a key of Anthropic is set.
const defaultAnthropicModel = "claude-sonnet-5"

func (r *Resolver) presetNamed(name string) *preset {
	for i := range r.presets {
		if r.presets[i].name == name {
			return &r.presets[i]
		}
	}
	return nil
}

// presetAt recognises the provider that serves at a host.
func (r *Resolver) presetAt(host string) *preset {
	for i := range presets {
		for _, known := range presets[i].hosts {
			if host == known || strings.HasSuffix(host, known) && strings.HasPrefix(known, ".") {
				if r.presets[i].baseURL != presets[i].baseURL {
					return &presets[i] // what was set belongs to another address
				}
				return &r.presets[i]
			}
		}
	}
	return nil
}

// Providers lists the names that may stand before the slash of a model, whatever was
// set.
func Providers() []string { return providerNames(presets) }

func providerNames(of []preset) []string {
	names := make([]string, 0, len(of)+1)
	for i := range of {
		names = append(names, of[i].name)
	}
	return append(names, simProvider)
}
