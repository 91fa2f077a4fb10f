package openai

import "github.com/convene-run/convene/llm/wire"

// news is what a chunk brings. Nearly every chunk brings one text: the next that differs from
// it in nothing else is taken by [stream.Again].
type news struct {
	kind newsKind
	text wire.Value
	// index is that of the call whose arguments the text is of.
	index int64
	// more is set where the chunk brings anything else too.
	more bool
}

type newsKind int

const (
	newsNone newsKind = iota
	newsContent
	newsReasoning
	newsArguments
)

func (n *news) brings(kind newsKind, value wire.Value) {
	if value.IsString() && value.Raw() != `""` {
		n.more = n.more || n.kind != newsNone
		n.kind, n.text = kind, value
	}
}

// Again takes the text of a chunk that repeats the one before but for its text.
func (s *stream) Again(text string) error {
	var err error
	switch {
	case text == "":
	case s.news.kind == newsContent:
		err = s.think.split(text)
	case s.news.kind == newsReasoning:
		err = s.AddReasoning(text)
	case s.news.kind == newsArguments:
		err = s.argue(fragment{index: s.news.index, hasIndex: true, args: text})
	}
	if err != nil {
		return err
	}
	if err := s.settled(); err != nil {
		return err
	}
	return s.announce()
}
