package otel

import (
	"cmp"

	"go.opentelemetry.io/otel/attribute"
)

// The names of the semantic conventions for generative AI, which are under development and
// have a repository of their own, as of November 2026:
// https://github.com/open-telemetry/semantic-conventions-genai. No other file has any.
const (
	operationName  = attribute.Key("gen_ai.operation.name")
	invokeWorkflow = "invoke_workflow"
	invokeAgent    = "invoke_agent"
	chat           = "chat"
	executeTool    = "execute_tool"

	providerName      = attribute.Key("gen_ai.provider.name")
	conversationID    = attribute.Key("gen_ai.conversation.id")
	workflowName      = attribute.Key("gen_ai.workflow.name")
	agentID           = attribute.Key("gen_ai.agent.id")
	agentName         = attribute.Key("gen_ai.agent.name")
	requestModel      = attribute.Key("gen_ai.request.model")
	finishReasons     = attribute.Key("gen_ai.response.finish_reasons")
	timeToFirstChunk  = attribute.Key("gen_ai.response.time_to_first_chunk")
	inputTokens       = attribute.Key("gen_ai.usage.input_tokens")
	cacheReadTokens   = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	cacheWriteTokens  = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	outputTokens      = attribute.Key("gen_ai.usage.output_tokens")
	reasoningTokens   = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	toolName          = attribute.Key("gen_ai.tool.name")
	toolType          = attribute.Key("gen_ai.tool.type")
	toolTypeFunction  = "function"
	toolCallID        = attribute.Key("gen_ai.tool.call.id")
	toolCallArguments = attribute.Key("gen_ai.tool.call.arguments")
	toolCallResult    = attribute.Key("gen_ai.tool.call.result")
	inputMessages     = attribute.Key("gen_ai.input.messages")
	outputMessages    = attribute.Key("gen_ai.output.messages")
	errorType         = attribute.Key("error.type")
	httpStatus        = attribute.Key("http.response.status_code")

	tokenUsageMetric = "gen_ai.client.token.usage"
	durationMetric   = "gen_ai.client.operation.duration"
	tokenType        = attribute.Key("gen_ai.token.type")
	tokenTypeInput   = "input"
	tokenTypeOutput  = "output"

	captureContent = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// tokenBuckets and durationBuckets are those that the conventions ask for.
var (
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	durationBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
)

// Names of our own, for what the conventions have none.
const (
	runID      = attribute.Key("convene.run.id")
	tenantID   = attribute.Key("convene.tenant.id")
	batchID    = attribute.Key("convene.batch.id")
	batchRow   = attribute.Key("convene.batch.row")
	forkedFrom = attribute.Key("convene.forked_from")
	simulated  = attribute.Key("convene.simulated")
	runStatus  = attribute.Key("convene.status")
	runLimit   = attribute.Key("convene.limit")
	dispatchID = attribute.Key("convene.dispatch.id")
	modelCall  = attribute.Key("convene.model_call.id")
	purpose    = attribute.Key("convene.model_call.purpose")
	attempts   = attribute.Key("convene.model_call.attempts")
	queuedTime = attribute.Key("convene.model_call.queued")
	costUSD    = attribute.Key("convene.cost_usd")
	lostTokens = attribute.Key("convene.lost_tokens")

	costMetric = "convene.client.cost"

	suspendedEvent = "convene.run_suspended"
	resumedEvent   = "convene.run_resumed"
	attemptEvent   = "convene.attempt_failed"
)

// providers are the conventions' names of those providers that are called otherwise here.
var providers = map[string]string{
	"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock", "mistral": "mistral_ai", "xai": "x_ai", "moonshot": "moonshot_ai",
}

// provider is the attribute for a provider; older logs do not name theirs.
func provider(name string) attribute.KeyValue {
	return providerName.String(cmp.Or(providers[name], name, "unknown"))
}
