package builtin

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/team"
)

// site serves pages on this machine, and counts the requests for each path.
type site struct {
	host string // with its port
	mu   sync.Mutex
	hits map[string]int
}

func serve(t *testing.T, pages map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{hits: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.URL.Path]++
		s.mu.Unlock()
		if page := pages[r.URL.Path]; page != nil {
			page(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	s.host = server.Listener.Addr().String()
	return s
}

func (s *site) asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits
}

func says(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}
}

func TestPageIsFetchedAsText(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{
		"/": says("text/html", `<!doctype html><html><head><title>Prices
			2026</title><style>p{}</style><script>alert("x")</script></head><body><nav>menu</nav><h1>List</h1>
			<p>See <a href="/more">more</a>.</p><table><tr><th>thing</th><th>price</th></tr><tr><td>tea</td><td>3</td></tr></table></body></html>`),
		"/latin": says("text/html; charset=iso-8859-1", "<p>caf\xe9</p>"),
		"/json":  says("application/json", `{"a": 1}`),
		"/text":  says("text/plain", "caf\xc3\xa9"),
		"/there": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/text", http.StatusFound) },
	})
	fetch := opened(t, team.Tools{FetchURL: &team.FetchURLTool{PrivateHosts: []string{s.host}}})["fetch_url"]
	for path, want := range map[string]string{
		"/#top":  "Title: Prices 2026\n\n# List\n\nSee [more](http://" + s.host + "/more).\n\n|thing|price|\n|---|---|\n|tea|3|",
		"/latin": "café", "/json": `{"a": 1}`, "/text": "café", "/there": "café",
	} {
		text, err := calls(t, fetch, in{"url": "http://" + s.host + path})
		require.NoError(t, err, path)
		require.Equal(t, want, text, path)
	}
}

// Proves R76: no spelling, redirect or look-up leads to an address that is not public.
func TestFetchEscapes(t *testing.T) {
	inner := serve(t, map[string]http.HandlerFunc{"/": says("text/plain", secret)})
	_, port, err := net.SplitHostPort(inner.host)
	require.NoError(t, err)
	outer := serve(t, map[string]http.HandlerFunc{
		"/to": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
		},
		"/loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
	})
	fetch := opened(t, team.Tools{FetchURL: &team.FetchURLTool{PrivateHosts: []string{outer.host}}})["fetch_url"]
	hosts := []string{
		"127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
		"169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1", "100.100.100.200", "LOCALHOST", "127.0.0.1.",
	}
	var addresses []string
	for _, host := range hosts {
		addresses = append(addresses, "http://"+host+":"+port+"/")
	}
	addresses = append(addresses, "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:"+port+"/#@example.com", "http://example.com@127.0.0.1:"+port+"/", `http://127.0.0.1:`+port+`\@example.com/`)
	for _, address := range addresses {
		for _, asked := range []string{address, "http://" + outer.host + "/to?u=" + url.QueryEscape(address)} {
			// A name that nobody answers for ends here, not at a resolver far away.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			text, err := callsIn(ctx, t, fetch, in{"url": asked})
			cancel()
			require.Error(t, err, "%s gave %q", asked, text)
			require.NotContains(t, text+err.Error(), secret)
		}
	}
	for _, address := range []string{"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://x/", "//127.0.0.1", "127.0.0.1", "", "http://", "http://a b/", "http://" + outer.host + "/to?u=file:///etc/passwd", "http://" + outer.host + "/loop", "https://x/" + strings.Repeat("a", 2000)} {
		_, err := calls(t, fetch, in{"url": address})
		require.Error(t, err, address)
	}
	require.Empty(t, inner.asked(), "nothing came through")
}

// A name that is public when it is looked at and private when it is connected to is judged
// by the connection.
func TestFetchJudgesTheConnection(t *testing.T) {
	inner := serve(t, map[string]http.HandlerFunc{"/": says("text/plain", secret)})
	f := newFetcher(team.FetchURLTool{Allow: []string{"rebind.example"}})
	var lookups atomic.Int32
	dial := f.client.Transport.(*http.Transport).DialContext
	f.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		lookups.Add(1)
		return dial(ctx, network, inner.host) // what the name is by now
	}
	address, err := parseAddress("http://rebind.example/")
	require.NoError(t, err)
	require.NoError(t, f.rules.check(address))
	_, err = f.fetch(t.Context(), address, func() {})
	require.EqualError(t, err, "rebind.example was not asked: 127.0.0.1 is not a public address")
	require.EqualValues(t, 1, lookups.Load())
	require.Empty(t, inner.asked())
}

func TestFetchAllowsTheHostsOfTheTeam(t *testing.T) {
	other := serve(t, map[string]http.HandlerFunc{"/": says("text/plain", secret)})
	s := serve(t, map[string]http.HandlerFunc{"/away": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+other.host, http.StatusFound)
	}})
	rules := rulesOf(team.FetchURLTool{Allow: []string{"Example.com", "*.example.org"}, PrivateHosts: []string{s.host}})
	for address, allowed := range map[string]bool{
		"https://example.com/x": true, "http://EXAMPLE.com:8080": true, "https://example.com.": true, "https://a.example.org": true, "https://a.b.example.org": true, "http://" + s.host: true,
		"https://www.example.com": false, "https://example.org": false, "https://badexample.com": false, "https://example.com.evil.net": false, "https://xexample.org": false, "http://" + other.host: false,
	} {
		parsed, err := parseAddress(address)
		require.NoError(t, err)
		require.Equal(t, allowed, rules.check(parsed) == nil, address)
	}
	fetch := opened(t, team.Tools{FetchURL: &team.FetchURLTool{Allow: []string{"example.com"}, PrivateHosts: []string{s.host}}})["fetch_url"]
	require.Contains(t, fetch.Description, "Only of example.com.")
	_, err := calls(t, fetch, in{"url": "http://" + s.host + "/away"})
	require.ErrorContains(t, err, "may not be asked here")
	require.Empty(t, other.asked())
}

// What is no text, too large, nested without end, or multiplies itself is refused or cut.
func TestPagesThatCannotBeRead(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{
		"/pdf":  says("application/pdf", "%PDF"),
		"/none": says("no type at all;;", "x"),
		"/huge": says("text/plain", strings.Repeat("x", maxPageBytes+1)),
		"/deep": says("text/html", strings.Repeat("<div>", 2_000)),
		"/bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			for range 6 {
				_, _ = packed.Write(make([]byte, 1<<20))
			}
			packed.Close()
		},
		"/spans": says("text/html", `<table><tr><td colspan="100000000" rowspan="1000000">a</td><td>b</td></tr><tr><td>c</td></tr></table><img src="data:image/png;base64,`+strings.Repeat("A", 1000)+`">`),
	})
	fetch := opened(t, team.Tools{FetchURL: &team.FetchURLTool{PrivateHosts: []string{s.host}}})["fetch_url"]
	for path, want := range map[string]string{
		"/pdf": "the page is application/pdf, not text", "/none": "which is none", "/huge": "more than 5 MB", "/deep": "not HTML that can be read", "/bomb": "more than 5 MB", "/missing": "answered 404 Not Found",
	} {
		_, err := calls(t, fetch, in{"url": "http://" + s.host + path})
		require.ErrorContains(t, err, want, path)
	}
	text, err := calls(t, fetch, in{"url": "http://" + s.host + "/spans"})
	require.NoError(t, err)
	require.Less(t, len(text), 200)
	require.Contains(t, text, "|a|b|")
}

// A page is fetched once for all runs of a process, also where they ask at the same time,
// and read on in parts; another team's settings have pages of their own.
func TestPagesAreShared(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/long": says("text/plain", strings.Repeat("0123456789", 200))})
	kit := new(Kit)
	fetchOf := func(settings team.FetchURLTool) func(args in) (string, error) {
		tools, err := kit.Tools(&team.Team{Tools: &team.Tools{FetchURL: &settings}, Limits: team.Limits{MaxToolResultChars: 1300}})
		require.NoError(t, err)
		return func(args in) (string, error) { return calls(t, tools[0], args) }
	}
	fetch := fetchOf(team.FetchURLTool{PrivateHosts: []string{s.host}})
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			text, err := fetch(in{"url": "http://" + s.host + "/long"})
			if err != nil || !strings.HasSuffix(text, "\n[bytes 0 to 1000 of 2000; to read on, repeat the call with offset 1000]") {
				t.Errorf("%q %v", text, err)
			}
		})
	}
	all.Wait()
	text, err := fetch(in{"url": "http://" + s.host + "/long", "offset": 1000})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(text, "\n[bytes 1000 to 2000, the end]"), text)
	require.Equal(t, 1, s.asked()["/long"])
	_, err = fetchOf(team.FetchURLTool{})(in{"url": "http://" + s.host + "/long"})
	require.ErrorContains(t, err, "is not a public address", "what another team may fetch is not kept for this one")
}

// What is kept has bounds, in bytes and in time.
func TestPagesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pages
		fetched := 0
		get := func(key string) {
			_, err := p.get(t.Context(), key, func(context.Context) (string, error) {
				fetched++
				return strings.Repeat("x", keptPagesBytes/4), nil
			})
			require.NoError(t, err)
		}
		for range 2 {
			get("a")
			get("b")
			get("c")
		}
		require.Equal(t, 3, fetched)
		get("d") // and "a" makes room
		get("a")
		require.Equal(t, 5, fetched)
		require.LessOrEqual(t, p.bytes, keptPagesBytes)
		time.Sleep(keptFor + time.Second)
		get("a")
		require.Equal(t, 6, fetched)
		_, err := p.get(t.Context(), "panics", func(context.Context) (string, error) { panic("oh") })
		require.EqualError(t, err, "the page cannot be read: oh")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.get(ended, "slow", func(context.Context) (string, error) { time.Sleep(time.Minute); return "", nil })
		require.ErrorIs(t, err, context.Canceled)
		time.Sleep(2 * time.Minute) // it ends by itself
	})
}
