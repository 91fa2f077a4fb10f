package sim

import (
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// chunk is one piece of a reply: text, or a fragment of one call's arguments.
type chunk struct {
	text     string
	call     int
	begins   bool // the first chunk of the call
	fragment string
	ends     bool // the last chunk of the call
}

// chunks cuts a reply: its text first, then its calls in order.
func (m *Model) chunks(reply events.Reply) []chunk {
	size := m.options.ChunkBytes
	total := len(reply.Text)
	for _, call := range reply.ToolCalls {
		total += len(call.Arguments)
	}
	if n := m.options.Chunks; n > 0 {
		return cutInto(reply, total, n)
	}
	size = max(size, total/maxChunks+utf8.UTFMax)
	list := textChunks(pieces(reply.Text, size))
	for i, call := range reply.ToolCalls {
		list = append(list, callChunks(i, pieces(call.Arguments, size))...)
	}
	return list
}

// cutInto cuts a reply into n chunks, more only if it has as many calls: each call
// takes its share of them by its length, at least one, and the text, which is long
// enough, takes the rest.
func cutInto(reply events.Reply, total, n int) []chunk {
	var calls []chunk
	budget := n - 1 // one at least is the text's
	for i, call := range reply.ToolCalls {
		left := len(reply.ToolCalls) - i - 1
		share := min(len(call.Arguments)*n/max(total, 1), budget-left)
		cut := callChunks(i, divide(call.Arguments, share))
		budget -= len(cut)
		calls = append(calls, cut...)
	}
	return append(textChunks(divide(reply.Text, n-len(calls))), calls...)
}

func textChunks(list []string) []chunk {
	var chunks []chunk
	for _, piece := range list {
		if piece != "" {
			chunks = append(chunks, chunk{text: piece})
		}
	}
	return chunks
}

func callChunks(call int, list []string) []chunk {
	chunks := make([]chunk, len(list))
	for i, piece := range list {
		chunks[i] = chunk{call: call, fragment: piece, begins: i == 0, ends: i == len(list)-1}
	}
	return chunks
}

// pieces cuts text into pieces of about size bytes between runes; an empty text is
// one empty piece.
func pieces(text string, size int) []string {
	var list []string
	for len(text) > size {
		at := size
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		list = append(list, text[:at])
		text = text[at:]
	}
	if text != "" || len(list) == 0 {
		list = append(list, text)
	}
	return list
}

// divide cuts text into n pieces of about equal length between runes, fewer where
// the text has not enough runes.
func divide(text string, n int) []string {
	runes := utf8.RuneCountInString(text)
	n = max(min(n, runes), 1)
	list := make([]string, 0, n)
	for left := n; left > 1; left-- {
		at := 0
		for range runes / left {
			_, width := utf8.DecodeRuneInString(text[at:])
			at += width
		}
		runes -= runes / left
		list = append(list, text[:at])
		text = text[at:]
	}
	return append(list, text)
}
