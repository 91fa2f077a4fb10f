package wire

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/llm"
)

// said is what an error body tells, whatever its form.
type said struct {
	message, code, kind, param string
	status                     int
	// structured is set where the body was JSON, so that the endpoint itself answered.
	structured bool
}

var htmlTitle = lazyregexp.New(`(?is)<title[^>]*>(.*?)</title>`)

// parseErrorBody reads the bodies that endpoints, gateways and proxies send:
// {"error":{…}}, {"error":"…"}, {"detail":…}, {"message":…}, the same in an array,
// HTML, plain text.
func parseErrorBody(body []byte) said {
	body = bytes.TrimSpace(body)
	if !ValidJSON(body) || len(body) == 0 || (body[0] != '{' && body[0] != '[') {
		return said{message: plainMessage(body)}
	}
	root := gjson.ParseBytes(body)
	if root.IsArray() {
		root = root.Get("0")
	}
	s := said{structured: true}
	object := root.Get("error")
	if !object.IsObject() {
		if object.Type == gjson.String {
			s.message = object.Str
		}
		object = root
	}
	s.message = firstOf(s.message, text(object, "message"), text(object, "detail"), text(root, "detail"), text(root, "message"),
		text(root, "errors"), text(root, "error"))
	s.code = firstOf(text(object, "code"), text(object, "type"))
	s.kind = text(object, "type")
	s.param = text(object, "param")
	for _, path := range []string{"status_code", "status", "code"} {
		if n, err := strconv.Atoi(object.Get(path).String()); err == nil && n >= 400 && n < 600 {
			s.status = n
			break
		}
	}
	// A router says "provider returned error" and what the provider said beside it.
	if raw := text(object, "metadata.raw"); raw != "" && !strings.Contains(s.message, raw) {
		s.message += ": " + raw
	}
	if s.message == "" {
		s.message = clip(body)
	}
	return s
}

// text gives a field as text: a string as it is, other JSON as it is written.
func text(v gjson.Result, path string) string {
	if f := v.Get(path); f.Type != gjson.Null {
		return f.String()
	}
	return ""
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func plainMessage(body []byte) string {
	if title := htmlTitle.FindSubmatch(body); title != nil {
		return strings.Join(strings.Fields(string(title[1])), " ")
	}
	if bytes.HasPrefix(body, []byte{'<'}) {
		return "an HTML page in place of an answer"
	}
	return clip(body)
}

var (
	contextWords = []string{"context length", "context_length", "context window", "context size", "maximum prompt length", "prompt is too long",
		"input is too long", "too many tokens", "exceeds the maximum number of tokens", "maximum number of tokens", "reduce the length of the messages"}
	toolWords = []string{"not support tool", "support tool use", "not support function", "tools is not supported", "tools are not supported",
		"tool calling is not", "tool use is not", "enable-auto-tool-choice", "not support the tools"}
	quotaWords = []string{"insufficient_quota", "insufficient balance", "insufficient_balance", "exceeded your current quota", "credit balance is too low",
		"billing", "out of credits", "extra usage is required", "requires more credits", "payment required"}
	keyWords = []string{"invalid_api_key", "invalid api key", "incorrect api key", "api key not valid", "api_key_invalid", "unauthorized", "authentication"}
)

// policyCodes are the codes of a request that the provider will not answer, however
// often it is asked. https://github.com/openai/codex
var policyCodes = map[string]bool{
	"invalid_prompt": true, "cyber_policy": true, "bio_policy": true, "cyber_policy_violation": true, "content_policy_violation": true,
	"content_policy": true, "policy_violation": true, "safety_violation": true,
}

// classify finds the kind of a failure from its status, its code and type, and its
// words.
func classify(status int, code, kind, message string) llm.ErrorKind {
	words := strings.ToLower(code + " " + kind + " " + message)
	has := func(list []string) bool {
		for _, w := range list {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	switch {
	case policyCodes[code]:
		return llm.ErrRefused
	case strings.Contains(words, "tool_use_failed"):
		return llm.ErrServer // the model wrote a call that is none; another attempt may do better
	case status == http.StatusPaymentRequired, (status == 0 || status == http.StatusTooManyRequests || status == http.StatusForbidden) && has(quotaWords):
		return llm.ErrQuota
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.ErrRateLimited
	case status >= 500:
		return llm.ErrServer
	case has(toolWords):
		return llm.ErrNoTools
	case has(contextWords), status == http.StatusRequestEntityTooLarge:
		return llm.ErrContextLength
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has(keyWords):
		return llm.ErrAuthentication
	case status == http.StatusNotFound, strings.Contains(words, "model_not_found"), strings.Contains(words, "model") && has([]string{
		"does not exist", "not exist", "not found", "unknown model", "invalid model", "is not a valid model"}):
		return llm.ErrModelNotFound
	case status == 0 && has([]string{"rate_limit", "rate limit", "ratelimit"}):
		return llm.ErrRateLimited
	case status == 0:
		return llm.ErrServer
	}
	return llm.ErrBadRequest
}
