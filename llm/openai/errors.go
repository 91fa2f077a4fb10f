package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm"
)

// Short names of the kinds that the stream reader gives.
const (
	errorServer   = llm.ErrServer
	errorTooLarge = llm.ErrReplyTooLarge
)

// maxMessageRunes bounds the endpoint's message in an error.
const maxMessageRunes = 600

func (c *Client) failure(model string, kind llm.ErrorKind, format string, args ...any) error {
	return &llm.Error{Kind: kind, Provider: c.cfg.Provider, Model: model, Message: c.message(fmt.Sprintf(format, args...))}
}

func (s *stream) broken(why string) error {
	return s.client.failure(s.req.Model, llm.ErrBrokenStream, "%s", why)
}

func (s *stream) tooLarge() error {
	return s.client.failure(s.req.Model, errorTooLarge, "the reply is larger than %d bytes (the bound of a reply)", s.client.cfg.MaxReplyBytes)
}

// message makes text fit for an error: bounded, readable, without the key.
func (c *Client) message(text string) string {
	text = strings.TrimSpace(c.redact(strings.ToValidUTF8(text, "\uFFFD")))
	if runes := []rune(text); len(runes) > maxMessageRunes {
		text = string(runes[:maxMessageRunes]) + "…"
	}
	return text
}

// redact takes the key, and secrets of headers, out of a text.
func (c *Client) redact(text string) string {
	const shortest = 8 // shorter ones are placeholders ("ollama") and words
	if len(c.cfg.APIKey) >= shortest {
		text = strings.ReplaceAll(text, c.cfg.APIKey, "[key]")
	}
	for _, values := range c.cfg.Header {
		for _, value := range values {
			for _, word := range strings.Fields(value) {
				if len(word) >= 2*shortest {
					text = strings.ReplaceAll(text, word, "[header]")
				}
			}
		}
	}
	return text
}

// transportError explains a request or a body that failed below HTTP.
func (s *stream) transportError(err error) error {
	if s.parent.Err() != nil {
		return contextError(s.parent)
	}
	e := &llm.Error{Kind: llm.ErrBrokenStream, Provider: s.client.cfg.Provider, Model: s.req.Model}
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, errSilent):
		e.Kind = llm.ErrTimeout
		e.Message = fmt.Sprintf("no answer within %s while waiting for %s", s.timeout, s.phase)
		return e
	case errors.Is(cause, errOverTime):
		e.Kind = llm.ErrTimeout
		e.Message = fmt.Sprintf("the reply took longer than %s", s.client.cfg.TotalTimeout)
		return e
	}
	if s.phase != "the first byte" {
		e.Message = "the connection broke in mid-reply: " + s.client.message(rootOf(err).Error())
		return e
	}
	s.client.connectionError(e, err)
	return e
}

// connectionError explains why no answer came at all.
func (c *Client) connectionError(e *llm.Error, err error) {
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var timeout net.Error
	host := c.chat.Host
	e.Kind, e.Message = llm.ErrUnreachable, fmt.Sprintf("cannot reach %s: %s", host, c.message(rootOf(err).Error()))
	switch {
	case errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		e.Permanent = true
		e.Message += "; for an authority of your own set SSL_CERT_FILE"
	case errors.As(err, &record):
		e.Permanent = true
		e.Message += "; is it http:// rather than https://?"
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Permanent = true
		e.Message += "; is the base URL right?"
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind = llm.ErrTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind = llm.ErrBrokenStream
		e.Message = fmt.Sprintf("%s closed the connection without an answer", host)
	}
}

// rootOf takes an error out of the wrapper that carries the URL, and so perhaps a key.
func rootOf(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// statusError reads an answer that is no 200 (WIRE 17 to 19).
func (c *Client) statusError(model string, response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBodyBytes)) // what was read is what there is to say
	said := parseErrorBody(body)
	e := &llm.Error{
		Status: response.StatusCode, Provider: c.cfg.Provider, Model: model,
		Code: c.message(said.code), Message: c.message(said.message),
		RetryAfter: retryAfter(response.Header, time.Now()),
	}
	e.Kind = classify(e.Status, e.Code+" "+said.kind, said.message)
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		e.Message = c.message("the endpoint redirects to " + response.Header.Get("Location") + "; set that as the base URL")
	case response.StatusCode < 300:
		e.Kind, e.Permanent = llm.ErrBadRequest, true
		e.Message = "the endpoint answered without a reply; is the base URL right?"
	case e.Message == "":
		e.Message = http.StatusText(response.StatusCode)
	}
	if e.Status == http.StatusNotFound && !said.structured {
		e.Message += " at " + c.chat.Host + c.chat.Path + "; is the base URL right?"
	}
	if e.Kind == llm.ErrQuota {
		e.Permanent = true
	}
	return c.refusal(e, said.param)
}

// streamError reads an error that came inside a 200 (WIRE 2).
func (c *Client) streamError(model string, root gjson.Result) error {
	said := parseErrorBody([]byte(root.Raw))
	e := &llm.Error{Provider: c.cfg.Provider, Model: model, Code: c.message(said.code), Message: c.message(said.message)}
	e.Status = said.status
	e.Kind = classify(e.Status, e.Code+" "+said.kind, said.message)
	if e.Kind == llm.ErrBadRequest {
		// The request had been accepted, so what failed is the making of the reply.
		e.Kind = llm.ErrServer
	}
	if e.Message == "" {
		e.Message = "the endpoint reported an error in mid-reply"
	}
	return e
}

// streamErrorText reads the data of an "event: error", which may be plain text.
func (c *Client) streamErrorText(model string, data []byte) error {
	if validJSON(data) && len(data) > 0 && data[0] == '{' {
		return c.streamError(model, gjson.ParseBytes(data))
	}
	return c.failure(model, llm.ErrServer, "the endpoint reported an error in mid-reply: %s", clip(data))
}
