package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/convene-run/convene/internal/publicaddr"
	"github.com/convene-run/convene/team"
)

const (
	// fetchTimeout bounds one fetch, redirects and body included.
	fetchTimeout = 30 * time.Second
	// maxPageBytes bounds a page, unpacked: a long book has less.
	maxPageBytes = 5 << 20
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes = 64 << 10
	// maxRedirects bounds those of one fetch.
	maxRedirects = 5
	// idleConnections bounds the connections that are kept for the next pages.
	idleConnections = 16
	// userAgent names convene to those who are asked.
	userAgent = "convene (+https://github.com/convene-run/convene)"
)

// fetcher fetches pages from the hosts that a team may ask.
type fetcher struct {
	rules  hostRules
	key    string
	client *http.Client
}

// newFetcher gives a fetcher. It goes through no proxy, which would connect in its place,
// and sends neither cookies nor credentials.
func newFetcher(settings team.FetchURLTool) *fetcher {
	f := &fetcher{rules: rulesOf(settings), key: cacheKey(settings)}
	f.client = &http.Client{
		Transport: &http.Transport{
			DialContext: f.dial, TLSHandshakeTimeout: fetchTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns: idleConnections, IdleConnTimeout: fetchTimeout, ForceAttemptHTTP2: true,
		},
		CheckRedirect: f.redirected,
	}
	return f
}

// dial connects to public addresses alone, and to the private hosts that the team names.
func (f *fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Control: publicaddr.Control}
	if f.rules.private[strings.ToLower(address)] {
		dialer.Control = nil
	}
	return dialer.DialContext(ctx, network, address)
}

func (f *fetcher) redirected(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("the page redirects more than %d times", maxRedirects)
	}
	address, err := parseAddress(request.URL.String())
	if err != nil {
		return err
	}
	return f.rules.check(address)
}

// fetch gives the text of a page.
func (f *fetcher) fetch(ctx context.Context, address *url.URL, progress func()) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "text/html, text/plain;q=0.9, application/json;q=0.9, text/*;q=0.8")
	response, err := f.client.Do(request)
	if err != nil {
		return "", failure(ctx, address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %s", address.Host, response.Status)
	}
	kind, err := textKind(response.Header.Get("Content-Type"))
	if err != nil {
		return "", err
	}
	body, err := readPage(response.Body, progress)
	if err != nil {
		return "", failure(ctx, address, err)
	}
	return pageText(body, kind, response.Header.Get("Content-Type"), response.Request.URL)
}

// textKind is the media type of an answer, if it is one of texts.
func textKind(contentType string) (string, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case contentType == "":
		return "text/plain", nil
	case err != nil:
		return "", fmt.Errorf("the page has the type %q, which is none", contentType)
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+xml"), strings.HasSuffix(kind, "+json"), kind == "application/json", kind == "application/xml":
		return kind, nil
	}
	return "", fmt.Errorf("the page is %s, not text: it cannot be read here", kind)
}

// readPage reads a body, and tells of progress.
func readPage(body io.Reader, progress func()) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(heard{body, progress}, maxPageBytes+1))
	if len(read) > maxPageBytes {
		return nil, fmt.Errorf("the page has more than %d MB, which are not read", maxPageBytes>>20)
	}
	return read, err
}

// heard tells of what is read from a reader.
type heard struct {
	from     io.Reader
	progress func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.progress()
	}
	return n, err
}

// pageText is the text of a page in UTF-8.
func pageText(body []byte, kind, contentType string, at *url.URL) (string, error) {
	var reader io.Reader = bytes.NewReader(body)
	if strings.Contains(contentType, "charset") || !utf8.Valid(body) {
		var err error
		if reader, err = charset.NewReader(reader, contentType); err != nil {
			return "", fmt.Errorf("the page's text cannot be read: %w", err)
		}
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return markdown(reader, at)
	}
	text, err := io.ReadAll(reader)
	return strings.ToValidUTF8(string(text), "�"), err
}

// failure says why a page could not be fetched.
func failure(ctx context.Context, address *url.URL, err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the method and the address, which the caller knows
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it took longer than %s", fetchTimeout)
	}
	var private *publicaddr.Error
	if errors.As(err, &private) {
		return fmt.Errorf("%s was not asked: %w", address.Host, private)
	}
	return fmt.Errorf("%s could not be fetched: %w", address.Host, err)
}
