package lineedit

import (
	"slices"
	"strings"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Action is what a key asks for beyond a change of the text.
type Action int

// The actions.
const (
	// None: the text or the cursor may have changed.
	None Action = iota
	// Submit: the text is complete. [Editor.Take] gives it.
	Submit
	// Interrupt is ^C, from terminals that send it as a key.
	Interrupt
	// End is ^D on an empty line.
	End
)

// Editor is a text that is being typed, of one line or several. It is not safe for
// concurrent use.
type Editor struct {
	// text is made of grapheme clusters: what people take for a character.
	text []string
	at   int
	// history are earlier texts, the newest last; past is the one that is shown, or
	// len(history) for the one being typed, which is kept in draft meanwhile.
	history []string
	past    int
	draft   string
	// words complete what begins with a slash.
	words []string
}

// maxHistory bounds the texts that the arrow keys lead back to.
const maxHistory = 200

// New gives an empty line. history are earlier texts, the newest last; words are the
// commands that Tab completes, each with its slash.
func New(history, words []string) *Editor {
	e := &Editor{words: words}
	for _, text := range history {
		e.remember(text)
	}
	return e
}

func (e *Editor) remember(text string) {
	if strings.TrimSpace(text) != "" && (len(e.history) == 0 || e.history[len(e.history)-1] != text) {
		e.history = append(e.history, text)
	}
	e.history = e.history[max(0, len(e.history)-maxHistory):]
	e.past = len(e.history)
}

// Text is what has been typed.
func (e *Editor) Text() string { return strings.Join(e.text, "") }

// Take gives what has been typed, puts it into the history and empties the line.
func (e *Editor) Take() string {
	text := e.Text()
	e.remember(text)
	e.set("")
	return text
}

// Clear empties the line.
func (e *Editor) Clear() { e.set(""); e.past = len(e.history) }

func (e *Editor) set(text string) {
	e.text = clusters(text)
	e.at = len(e.text)
}

// clusters splits a text into what people take for characters.
func clusters(text string) []string {
	var parts []string
	for text != "" {
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if cluster == "" {
			cluster = text[:1]
		}
		parts, text = append(parts, cluster), text[len(cluster):]
	}
	return parts
}

// Paste puts text in at the cursor. Its line ends stay; other control characters do not.
func (e *Editor) Paste(text string) { e.insert(clean(text)) }

// clean makes text fit for a line: tabs are spaces.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

func (e *Editor) insert(text string) {
	before := strings.Join(e.text[:e.at], "") + text
	after := strings.Join(e.text[e.at:], "")
	e.text = clusters(before + after)
	// A mark may have joined the character before it, or a character the one behind.
	e.at = min(len(clusters(before)), len(e.text))
}

// Key takes a key that was pressed.
func (e *Editor) Key(k uv.Key) Action {
	stroke := k.Keystroke()
	if action, done := e.act(stroke); done {
		return action
	}
	if edit, known := edits[stroke]; known {
		edit(e)
		return None
	}
	if k.Text != "" && k.Mod&(uv.ModCtrl|uv.ModAlt) == 0 {
		e.insert(clean(k.Text))
	}
	return None
}

func (e *Editor) act(stroke string) (action Action, done bool) {
	switch stroke {
	case "enter":
		return Submit, true
	case "ctrl+c":
		return Interrupt, true
	case "ctrl+d":
		if len(e.text) == 0 {
			return End, true
		}
		e.remove(e.at, e.at+1)
		return None, true
	}
	return None, false
}

// edits are the keys that change the text or move the cursor, as shells have them.
var edits = map[string]func(*Editor){
	"left": func(e *Editor) { e.at = max(0, e.at-1) }, "ctrl+b": func(e *Editor) { e.at = max(0, e.at-1) },
	"right": func(e *Editor) { e.at = min(len(e.text), e.at+1) }, "ctrl+f": func(e *Editor) { e.at = min(len(e.text), e.at+1) },
	"home": (*Editor).home, "ctrl+a": (*Editor).home,
	"end": (*Editor).end, "ctrl+e": (*Editor).end,
	"ctrl+left": (*Editor).wordLeft, "alt+left": (*Editor).wordLeft, "alt+b": (*Editor).wordLeft,
	"ctrl+right": (*Editor).wordRight, "alt+right": (*Editor).wordRight, "alt+f": (*Editor).wordRight,
	"backspace": func(e *Editor) { e.remove(e.at-1, e.at) }, "ctrl+h": func(e *Editor) { e.remove(e.at-1, e.at) },
	"shift+backspace": func(e *Editor) { e.remove(e.at-1, e.at) },
	"delete":          func(e *Editor) { e.remove(e.at, e.at+1) },
	"ctrl+w":          (*Editor).rubWord, "alt+backspace": (*Editor).rubWord, "ctrl+backspace": (*Editor).rubWord,
	"ctrl+u": func(e *Editor) { e.remove(e.lineStart(), e.at) },
	"ctrl+k": func(e *Editor) { e.remove(e.at, e.lineEnd()) },
	"up":     (*Editor).up, "ctrl+p": (*Editor).up,
	"down": (*Editor).down, "ctrl+n": (*Editor).down,
	"tab":       (*Editor).complete,
	"alt+enter": (*Editor).newLine, "shift+enter": (*Editor).newLine, "ctrl+j": (*Editor).newLine, "ctrl+enter": (*Editor).newLine,
}

func (e *Editor) newLine() { e.insert("\n") }

func (e *Editor) remove(from, to int) {
	from, to = max(from, 0), min(to, len(e.text))
	if from >= to {
		return
	}
	e.text = slices.Delete(e.text, from, to)
	if e.at >= to {
		e.at -= to - from
	} else {
		e.at = min(e.at, from)
	}
}

func (e *Editor) lineStart() int {
	for i := e.at; i > 0; i-- {
		if e.text[i-1] == "\n" {
			return i
		}
	}
	return 0
}

func (e *Editor) lineEnd() int {
	for i := e.at; i < len(e.text); i++ {
		if e.text[i] == "\n" {
			return i
		}
	}
	return len(e.text)
}

func (e *Editor) home() { e.at = e.lineStart() }
func (e *Editor) end()  { e.at = e.lineEnd() }

func blank(cluster string) bool { return strings.TrimSpace(cluster) == "" }

func (e *Editor) wordLeft() {
	for e.at > 0 && blank(e.text[e.at-1]) {
		e.at--
	}
	for e.at > 0 && !blank(e.text[e.at-1]) {
		e.at--
	}
}

func (e *Editor) wordRight() {
	for e.at < len(e.text) && blank(e.text[e.at]) {
		e.at++
	}
	for e.at < len(e.text) && !blank(e.text[e.at]) {
		e.at++
	}
}

func (e *Editor) rubWord() {
	end := e.at
	e.wordLeft()
	e.remove(e.at, end)
}

// up goes to the line above, or to the text before.
func (e *Editor) up() {
	if start := e.lineStart(); start > 0 {
		column := e.at - start
		e.at = start - 1
		e.at = min(e.lineStart()+column, e.at)
		return
	}
	if e.past == 0 {
		return
	}
	if e.past == len(e.history) {
		e.draft = e.Text()
	}
	e.past--
	e.set(e.history[e.past])
}

// down goes to the line below, or to the text behind.
func (e *Editor) down() {
	if end := e.lineEnd(); end < len(e.text) {
		column := e.at - e.lineStart()
		e.at = end + 1
		e.at = min(e.at+column, e.lineEnd())
		return
	}
	switch {
	case e.past >= len(e.history):
		return
	case e.past == len(e.history)-1:
		e.past++
		e.set(e.draft)
	default:
		e.past++
		e.set(e.history[e.past])
	}
}

// complete fills in the command that begins as the text does, as far as only one does.
func (e *Editor) complete() {
	text := e.Text()
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") || e.at != len(e.text) {
		return
	}
	var fitting []string
	for _, word := range e.words {
		if strings.HasPrefix(word, text) {
			fitting = append(fitting, word)
		}
	}
	switch len(fitting) {
	case 0:
	case 1:
		e.set(fitting[0] + " ")
	default:
		e.set(common(fitting))
	}
}

// common is how all words begin.
func common(words []string) string {
	prefix := words[0]
	for _, word := range words[1:] {
		for !strings.HasPrefix(word, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}

// Lines sets the text behind a prompt into lines of at most width cells, and tells in
// which of them, and at which cell, the cursor stands. The lines behind the first are
// indented as the prompt is wide.
func (e *Editor) Lines(prompt string, width int) (lines []string, row, column int) {
	indent := ansi.StringWidth(prompt)
	if indent*2 > width {
		prompt, indent = ansi.Truncate(prompt, width/2, ""), width/2
	}
	line, cells := prompt, indent
	brk := func() {
		lines = append(lines, line)
		line, cells = strings.Repeat(" ", indent), indent
	}
	for i, cluster := range e.text {
		wide := ansi.StringWidth(cluster)
		if cluster != "\n" && cells+wide >= width {
			brk()
		}
		if i == e.at {
			row, column = len(lines), cells
		}
		if cluster == "\n" {
			brk()
			continue
		}
		line, cells = line+cluster, cells+wide
	}
	if e.at == len(e.text) {
		if cells+1 >= width && cells > indent {
			brk()
		}
		row, column = len(lines), cells
	}
	return append(lines, line), row, column
}
