package wire

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
	"os"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/convene-run/convene/llm"
)

// addressMark stands before the address in the error of one where nothing is.
const addressMark = " at "

// maxMessageRunes bounds the endpoint's message in an error.
const maxMessageRunes = 600

// Failure is an error of the endpoint in words of our own.
func (s *Call) Failure(kind llm.ErrorKind, format string, args ...any) error {
	return &llm.Error{Kind: kind, Provider: s.conn.cfg.Provider, Model: s.req.Model, Message: s.conn.message(fmt.Sprintf(format, args...))}
}

// Broken is the error of a stream that ended without being whole.
func (s *Call) Broken(why string) error {
	return s.Failure(llm.ErrBrokenStream, "%s", why)
}

func (s *Call) tooLarge() error {
	return s.Failure(llm.ErrReplyTooLarge, "the reply is larger than %d bytes (the bound of a reply)", s.conn.cfg.MaxReplyBytes)
}

// message makes text fit for an error: bounded, readable, without the key.
func (c *Conn) message(text string) string {
	text = strings.TrimSpace(c.redact(strings.ToValidUTF8(text, "\uFFFD")))
	if runes := []rune(text); len(runes) > maxMessageRunes {
		text = string(runes[:maxMessageRunes]) + "…"
	}
	return text
}

// redact takes the key, and secrets of headers, out of a text.
func (c *Conn) redact(text string) string {
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
func (s *Call) transportError(err error) error {
	if s.parent.Err() != nil {
		return contextError(s.parent)
	}
	e := &llm.Error{Kind: llm.ErrBrokenStream, Provider: s.conn.cfg.Provider, Model: s.req.Model}
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, errSilent):
		e.Kind = llm.ErrTimeout
		e.Message = fmt.Sprintf("no answer within %s while waiting for %s", s.timeout, s.phase)
		return e
	case errors.Is(cause, errOverTime):
		e.Kind = llm.ErrTimeout
		e.Message = fmt.Sprintf("the reply took longer than %s", s.total)
		return e
	}
	if s.phase != "the first byte" {
		e.Message = "the connection broke in mid-reply: " + s.conn.message(rootOf(err).Error())
		return e
	}
	s.conn.connectionError(e, s.to, err)
	return e
}

// connectionError explains why no answer came at all.
func (c *Conn) connectionError(e *llm.Error, to *url.URL, err error) {
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	var timeout net.Error
	host := to.Host
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

// rootOf takes an error out of the wrappers that carry the URL, and so perhaps a key, and
// what the message around it says already: addresses and system calls.
func rootOf(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op != "proxyconnect" { // a proxy is named nowhere else
		err = network.Err
		var system *os.SyscallError
		if errors.As(err, &system) {
			err = system.Err
		}
	}
	return err
}

// statusError reads an answer that is no 200 (WIRE 17 to 19).
func (c *Conn) statusError(model string, to *url.URL, response *http.Response) (*llm.Error, string) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBodyBytes)) // what was read is what there is to say
	said := parseErrorBody(body)
	e := &llm.Error{
		Status: response.StatusCode, Provider: c.cfg.Provider, Model: model,
		Code: c.message(said.code), Message: c.message(said.message),
		RetryAfter: retryAfter(response.Header, time.Now()),
	}
	e.Kind = classify(e.Status, said.code, said.kind, said.message)
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		e.Kind, e.Permanent = llm.ErrUnreachable, true
		e.Message = c.message("the endpoint redirects to " + response.Header.Get("Location") + "; set that as the base URL")
	case response.StatusCode < 300:
		e.Kind, e.Permanent = llm.ErrUnreachable, true
		e.Message = "the endpoint answered without a reply; is the base URL right?"
	case response.StatusCode == http.StatusMethodNotAllowed, !said.structured && e.Status == http.StatusNotImplemented, !said.structured && wantsTLS(said.message):
		e.Kind, e.Permanent = llm.ErrUnreachable, true
		e.Message += " at " + to.Host + to.Path + "; is the base URL right?"
	case e.Message == "":
		e.Message = http.StatusText(response.StatusCode)
	}
	switch response.Header.Get("X-Should-Retry") {
	case "false":
		e.Permanent = true
	case "true":
		if passes(e.Kind) {
			e.Kind = llm.ErrServer
		}
	}
	if e.Status == http.StatusNotFound && !said.structured {
		e.Message += addressMark + to.Host + to.Path + "; is the base URL right?"
	}
	c.judge(e)
	return e, said.param
}

// passes reports whether a refusal may pass by itself, where the endpoint says that it
// does. Money and a prompt that is too long stay what they are.
func passes(kind llm.ErrorKind) bool {
	switch kind {
	case llm.ErrBadRequest, llm.ErrAuthentication, llm.ErrModelNotFound, llm.ErrNoTools, llm.ErrRefused:
		return true
	}
	return false
}

// wantsTLS recognises what servers say to http:// on the port of https://.
func wantsTLS(message string) bool {
	text := strings.ToLower(message)
	return strings.Contains(text, "http request to an https server") || strings.Contains(text, "plain http request was sent to https port")
}

// ErrorIn reads an error that came inside a 200 (WIRE 2).
func (s *Call) ErrorIn(root gjson.Result) error {
	c := s.conn
	said := parseErrorBody([]byte(root.Raw))
	e := &llm.Error{Provider: c.cfg.Provider, Model: s.req.Model, Code: c.message(said.code), Message: c.message(said.message)}
	e.Status = said.status
	e.Kind = classify(e.Status, said.code, said.kind, said.message)
	if e.Kind == llm.ErrBadRequest {
		// The request had been accepted, so what failed is the making of the reply.
		e.Kind = llm.ErrServer
	}
	if e.Message == "" {
		e.Message = "the endpoint reported an error in mid-reply"
	}
	c.judge(e)
	return e
}

// NothingThere reports whether an answer says that the address has no API of the kind
// that was asked for: a 404 or 405 that names neither a model nor an item.
func NothingThere(e *llm.Error) bool {
	if e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed {
		return false
	}
	words := strings.ToLower(e.Code + " " + e.Message)
	words, _, _ = strings.Cut(words, addressMark) // what follows are our own words
	for _, named := range []string{strings.ToLower(e.Model), "model", "deployment", "item "} {
		if len(named) > 2 && strings.Contains(words, named) {
			return false
		}
	}
	return true
}

// judge completes an error with what follows from its kind and its words.
func (c *Conn) judge(e *llm.Error) {
	e.Permanent = e.Permanent || e.Kind == llm.ErrQuota
	if e.Kind == llm.ErrRateLimited && e.RetryAfter == 0 {
		e.RetryAfter = retryAfterText(e.Message)
	}
}

// errorText reads the data of an "event: error", which may be plain text.
func (s *Call) errorText(data []byte) error {
	if ValidJSON(data) && len(data) > 0 && data[0] == '{' {
		return s.ErrorIn(gjson.ParseBytes(data))
	}
	return s.Failure(llm.ErrServer, "the endpoint reported an error in mid-reply: %s", clip(data))
}
