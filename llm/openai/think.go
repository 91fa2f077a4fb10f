package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter parts content that carries its reasoning between <think> tags,
// also where a chunk ends inside a tag (WIRE 12).
type thinkSplitter struct {
	inside   bool
	started  bool // something other than white space was content
	afterTag bool // white space after the closing tag is dropped
	// held is the beginning of a tag that the next chunk may complete.
	held string
	// open is the text since an opening tag in mid-text: should it never close, it
	// was content that spoke of the tag.
	open     strings.Builder
	openMid  bool
	lastByte byte
}

// split gives the pieces of text in order to emit.
func (t *thinkSplitter) split(text string, emit func(text string, reasoning bool) error) error {
	if t.held != "" {
		text = t.held + text
		t.held = ""
	}
	for text != "" {
		tag := thinkOpen
		if t.inside {
			tag = thinkClose
		}
		before, after, found := t.cut(text, tag)
		if err := t.give(before, emit); err != nil {
			return err
		}
		if !found {
			return nil
		}
		t.toggle()
		text = after
	}
	return nil
}

// cut finds the tag; the start of a tag at the very end is held back.
func (t *thinkSplitter) cut(text, tag string) (before, after string, found bool) {
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '<')
		if i < 0 {
			return text, "", false
		}
		i += from
		switch {
		case strings.HasPrefix(text[i:], tag) && !t.quoted(text, i):
			return text[:i], text[i+len(tag):], true
		case strings.HasPrefix(tag, text[i:]):
			t.held = strings.Clone(text[i:])
			return text[:i], "", false
		}
		from = i + 1
	}
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

func (t *thinkSplitter) toggle() {
	if t.inside {
		t.inside, t.afterTag = false, true
		t.open.Reset()
		return
	}
	t.inside, t.openMid = true, t.started
}

func (t *thinkSplitter) give(text string, emit func(string, bool) error) error {
	if t.inside {
		if t.openMid {
			t.open.WriteString(text)
		}
		if text == "" {
			return nil
		}
		return emit(text, true)
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
	return emit(text, false)
}

// finish gives what was held back at the end of the content, and returns the text
// of a block that opened in mid-text and never closed: it was content.
func (t *thinkSplitter) finish(emit func(string, bool) error) (reopened string, err error) {
	held := t.held
	t.held = ""
	if err := t.give(held, emit); err != nil {
		return "", err
	}
	if t.inside && t.openMid {
		return t.open.String(), nil
	}
	return "", nil
}
