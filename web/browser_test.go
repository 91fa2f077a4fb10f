//go:build browser

package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// browser is one Chromium for all tests: starting it takes longer than most of them.
var browser = sync.OnceValue(func() *chromiumProcess {
	c := startBrowser()
	atEnd = c.stop
	return c
})

// chromiumProcess is a Chromium of its own, with a profile that has seen nothing.
type chromiumProcess struct {
	ctx  context.Context
	stop func()
	err  error
}

// chromium finds the browser: CONVENE_CHROMIUM names another.
func chromium() (string, error) {
	if path := os.Getenv("CONVENE_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium was found: install one (apt-get install chromium), or name it in CONVENE_CHROMIUM")
}

func startBrowser() *chromiumProcess {
	path, err := chromium()
	if err != nil {
		return &chromiumProcess{err: err, stop: func() {}}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("disable-dev-shm-usage", true))
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	return &chromiumProcess{ctx: ctx, err: chromedp.Do(ctx, chromedp.Navigate("about:blank")), stop: func() {
		_ = chromedp.Cancel(ctx) // the process is gone either way
		end()
		endAllocator()
	}}
}

// tab is one page of the browser.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // guards what follows
	errors   []string
	requests []string
}

// browse opens a tab, of a wide screen and light colours. A tab in which anything
// went wrong fails its test.
func browse(t testing.TB) *tab {
	t.Helper()
	return browser().tab(t)
}

// tab opens a tab of this browser.
func (c *chromiumProcess) tab(t testing.TB) *tab {
	t.Helper()
	require.NoError(t, c.err)
	ctx, cancel := chromedp.NewContext(c.ctx)
	b := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for message, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			if message.Type == chromedp.ConsoleException || message.Type == "error" {
				b.mu.Lock()
				b.errors = append(b.errors, message.Text)
				b.mu.Unlock()
			}
		}
	}()
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	seen := make(chan struct{})
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		defer close(seen)
		for event, err := range requests {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.requests = append(b.requests, event.Request.URL)
			b.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		<-seen
	})
	b.size(1440, 900, false)
	b.scheme("light")
	return b
}

// clean checks that no script failed and the policy refused nothing.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.errors, "errors in the page's console")
}

func (b *tab) forgetErrors() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = nil
}

func (b *tab) requested() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.requests...)
}

func (b *tab) size(width, height int64, phone bool) {
	b.t.Helper()
	var options []chromedp.EmulateViewportOption
	if phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateScale(2))
	}
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height, options...)))
}

// scheme is what the system of the reader prefers: light or dark.
func (b *tab) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	require.NoError(b.t, err)
}

func (b *tab) open(url string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

func (b *tab) reload() {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Reload()))
}

// before runs a script in every page before its own.
func (b *tab) before(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(b.t, err)
}

// js evaluates an expression.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return value
}

// wait waits until an expression is true of what the page's script shows. What the server has
// drawn before it, until would see.
func (b *tab) wait(expression string) {
	b.t.Helper()
	b.until(drawn + " && (" + expression + ")")
}

// drawn says that the page's script has drawn it, where it has one: Preact keeps what it drew
// in the property __k.
const drawn = `((app) => !app || !app.hasChildNodes() || '__k' in app)(document.getElementById('app'))`

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(25 * time.Millisecond) {
		value, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && value {
			return
		}
		if time.Now().After(end) {
			b.picture("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
			require.FailNow(b.t, "it never came", "%s\nerror: %v\nconsole: %v\npage: %s", expression, err, b.errors, js[string](b, "document.body.innerText.slice(0, 3000)"))
		}
	}
}

// frames lets so many frames be drawn.
func (b *tab) frames(n int) {
	b.t.Helper()
	js[bool](b, fmt.Sprintf(`new Promise((done) => { let n = %d; const next = () => n-- ? requestAnimationFrame(next) : done(true); next(); })`, n))
}

// text is what stands in the first element that fits.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return js[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// click clicks the first element that fits, as a pointer in its middle would, once it is
// there, can be used and is covered by nothing. Where it stands is found out and used in one
// task of the page: nothing can come between and put another thing in its place.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.clickThe(selector, "true")
}

// clickText clicks the first element that fits and says no more than the text.
func (b *tab) clickText(selector, text string) {
	b.t.Helper()
	b.clickThe(selector, fmt.Sprintf("e.innerText === %q", text))
}

func (b *tab) clickThe(selector, is string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`(() => {
		const found = [...document.querySelectorAll(%q)].find((e) => %s);
		if (!found || found.disabled || !found.checkVisibility()) return false;
		found.scrollIntoView({block: 'nearest', inline: 'nearest'});
		const r = found.getClientRects()[0];
		if (!found.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) return false;
		found.focus({preventScroll: true});
		found.click();
		return true;
	})()`, selector, is))
}

// press types keys, one after the other, as a keyboard does: a page that takes a key
// for itself leaves no character of it.
func (b *tab) press(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		for _, key := range text {
			down, up := input.DispatchKeyEventParams{}, input.DispatchKeyEventParams{}
			for _, event := range kb.Encode(key) {
				switch event.Type {
				case kb.KeyUp:
					up = *event
				case kb.KeyChar:
					down.Text, down.UnmodifiedText = event.Text, event.UnmodifiedText
				default:
					down = *event
				}
			}
			down.Type = kb.KeyDown
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, event)
				require.NoError(b.t, err)
			}
		}
	}
}

// screens says that pictures are wanted: no test compares them, and the browser works for
// each about as long as for a short test.
var screens = os.Getenv("CONVENE_SCREENSHOTS") != ""

// shot writes what is seen to testdata/screens, for a person to look at, where
// CONVENE_SCREENSHOTS is set.
func (b *tab) shot(name string) {
	b.t.Helper()
	if screens {
		b.picture(name)
	}
}

// picture writes what is seen to testdata/screens.
func (b *tab) picture(name string) {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	dir := filepath.Join("testdata", "screens")
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}
