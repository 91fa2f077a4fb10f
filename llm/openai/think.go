package openai

import (
	"strings"

	"github.com/convene-run/convene/llm/wire"
)

// thinkTags are the tags that endpoints put around reasoning, in turn opening and
// closing.
var thinkTags = []string{"<think>", "</think>", "<thought>", "</thought>"}

// thinkSplitter parts content that carries its reasoning between <think> tags,
// also where a chunk ends inside a tag (WIRE 12). A closing tag that nothing opened
// ends reasoning too: some templates open it in the prompt.
type thinkSplitter struct {
	inside   bool
	tag      int  // index of the tag that opened the block
	closed   bool // a block has been closed
	started  bool // something other than white space was content
	afterTag bool // white space after the closing tag is dropped
	// held is the beginning of a tag that the next chunk may complete.
	held string
	// open is the text since an opening tag in mid-text: should it never close, it
	// was content that spoke of the tag.
	open     strings.Builder
	openMid  bool
	lastByte byte
	// call takes the pieces.
	call *wire.Call
}

// split hands the pieces of text on in order.
func (t *thinkSplitter) split(text string) error {
	if t.held != "" {
		text = t.held + text
		t.held = ""
	}
	for text != "" {
		before, after, tag := t.cut(text)
		if err := t.give(before); err != nil {
			return err
		}
		if tag < 0 {
			return nil
		}
		if err := t.toggle(tag); err != nil {
			return err
		}
		text = after
	}
	return nil
}

// cut finds the next tag that means something here, -1 for none; the start of one at
// the very end is held back.
func (t *thinkSplitter) cut(text string) (before, after string, found int) {
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '<')
		if i < 0 {
			return text, "", -1
		}
		i += from
		for at, tag := range thinkTags {
			switch {
			case !t.expects(at):
			case strings.HasPrefix(text[i:], tag) && !t.quoted(text, i):
				return text[:i], text[i+len(tag):], at
			case strings.HasPrefix(tag, text[i:]):
				t.held = strings.Clone(text[i:])
				return text[:i], "", -1
			}
		}
		from = i + 1
	}
}

// expects reports whether a tag means something here: inside a block the one that
// closes it, outside those that open one, and before the first block one that closes.
func (t *thinkSplitter) expects(tag int) bool {
	closes := tag%2 == 1
	if t.inside {
		return closes && tag == t.tag+1
	}
	return !closes || !t.closed
}

// quoted reports whether an opening tag stands behind a quote: then the text
// speaks of the tag.
func (t *thinkSplitter) quoted(text string, at int) bool {
	if t.inside {
		return false
	}
	before := t.lastByte
	if at > 0 {
		before = text[at-1]
	}
	return before == '`' || before == '"' || before == '\''
}

func (t *thinkSplitter) toggle(tag int) error {
	switch {
	case t.inside:
		t.inside, t.afterTag, t.closed = false, true, true
		t.open.Reset()
	case tag%2 == 1:
		t.afterTag, t.closed, t.started = true, true, false
		return t.call.Rethink()
	default:
		t.inside, t.openMid, t.tag = true, t.started, tag
	}
	return nil
}

func (t *thinkSplitter) give(text string) error {
	if t.inside {
		if t.openMid {
			t.open.WriteString(text)
		}
		return t.call.AddReasoning(text)
	}
	if t.afterTag {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return nil
		}
		t.afterTag = false
	}
	if text == "" {
		return nil
	}
	t.lastByte = text[len(text)-1]
	t.started = t.started || strings.TrimSpace(text) != ""
	return t.call.AddText(text)
}

// finish gives what was held back at the end of the content, and returns the text
// of a block that opened in mid-text and never closed: it was content.
func (t *thinkSplitter) finish() (reopened string, err error) {
	held := t.held
	t.held = ""
	if err := t.give(held); err != nil {
		return "", err
	}
	if t.inside && t.openMid {
		return thinkTags[t.tag] + t.open.String(), nil
	}
	return "", nil
}
