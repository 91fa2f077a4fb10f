package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/team"
)

// maxURLBytes bounds an address: what is longer carries something away.
const maxURLBytes = 2_000

type fetchURLArgs struct {
	URL    string `json:"url" jsonschema:"The address of the page, beginning with http:// or https://."`
	Offset int64  `json:"offset,omitempty" jsonschema:"Where to begin, in bytes: the offset that the previous part names. Defaults to 0."`
}

// fetchURL gives the text of a page.
func (k *Kit) fetchURL(settings team.FetchURLTool, most int) agent.Tool {
	f := newFetcher(settings)
	return agent.Func(llm.Tool{
		Name: team.ToolFetchURL,
		Description: "Fetches a web page or a text file and gives its text, HTML as Markdown. A long one comes in parts: " +
			"each says at which offset the next begins." + f.rules.said(),
	}, events.EffectPure, func(ctx context.Context, in agent.Invocation, args fetchURLArgs) (agent.Result, error) {
		address, err := parseAddress(args.URL)
		if err != nil {
			return agent.Result{}, err
		}
		if err := f.rules.check(address); err != nil {
			return agent.Result{}, err
		}
		page, err := k.pages.get(ctx, f.key+" "+address.String(), func(ctx context.Context) (string, error) {
			return f.fetch(ctx, address, in.Progress)
		})
		if err != nil {
			return agent.Result{}, err
		}
		text, next, err := part(page, args.Offset, most)
		return agent.Result{Text: text + readOn(args.Offset, next, int64(len(page))), Sources: []events.Source{{URL: args.URL}}}, err
	})
}

// parseAddress reads the address of a page. What stands behind # is of the page itself.
func parseAddress(text string) (*url.URL, error) {
	if len(text) > maxURLBytes {
		return nil, fmt.Errorf("the address has %d characters, at most %d are fetched", len(text), maxURLBytes)
	}
	address, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return nil, fmt.Errorf("%q is no address of a page: begin it with https:// or http://", text)
	case address.User != nil:
		return nil, fmt.Errorf("the address has a user name or password, which are not sent: leave them out")
	}
	address.Host = strings.ToLower(address.Host)
	address.Fragment, address.RawFragment = "", ""
	return address, nil
}

// hostRules say which hosts may be asked.
type hostRules struct {
	allow   []string
	private map[string]bool // host:port
}

func rulesOf(settings team.FetchURLTool) hostRules {
	rules := hostRules{private: map[string]bool{}}
	for _, host := range settings.Allow {
		rules.allow = append(rules.allow, strings.ToLower(host))
	}
	for _, host := range settings.PrivateHosts {
		rules.private[strings.ToLower(host)] = true
	}
	return rules
}

// check refuses an address whose host may not be asked.
func (r hostRules) check(address *url.URL) error {
	if len(r.allow) == 0 || r.private[hostPort(address)] {
		return nil
	}
	host := strings.TrimSuffix(address.Hostname(), ".")
	for _, allowed := range r.allow {
		below, wild := strings.CutPrefix(allowed, "*")
		if host == allowed || wild && strings.HasSuffix(host, below) {
			return nil
		}
	}
	return fmt.Errorf("%s may not be asked here: only %s may", host, strings.Join(r.allow, ", "))
}

// said tells the model which hosts it can ask.
func (r hostRules) said() string {
	if len(r.allow) == 0 {
		return ""
	}
	return " Only of " + strings.Join(r.allow, ", ") + "."
}

// hostPort is where an address is asked.
func hostPort(address *url.URL) string {
	port := address.Port()
	switch {
	case port != "":
	case address.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	return strings.ToLower(address.Hostname()) + ":" + port
}

// cacheKey tells settings apart: a page that one team may fetch is none of another's.
func cacheKey(settings team.FetchURLTool) string {
	text, err := json.Marshal(settings)
	if err != nil {
		panic(fmt.Sprintf("builtin: marshal settings: %v", err)) // two lists of texts
	}
	return string(text)
}
