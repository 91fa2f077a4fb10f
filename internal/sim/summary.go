package sim

import (
	"fmt"
	"strings"
)

// maxSummaryLines bounds the final answer; the document has the rest.
const maxSummaryLines = 12

// facilitatorAnswer sums up the document and names what is missing.
func (p *part) facilitatorAnswer() string {
	var b strings.Builder
	lines, more := p.highlights()
	about := p.matter()
	if about == nil {
		b.WriteString(unknownSubject + "\n\n")
	}
	fmt.Fprintf(&b, "Here is the result for %s", quotedTopic(p.request))
	if len(lines) == 0 {
		b.WriteString(", as far as it goes: the document has no text to sum up.\n")
	} else {
		b.WriteString(". The main points:\n\n")
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nThe document has %d more sections.\n", more)
	}
	if about != nil && about.Note != "" && len(lines) > 0 {
		b.WriteString("\n" + about.Note + "\n")
	}
	if limits := p.limitations(); len(limits) > 0 {
		b.WriteString("\n**Limitations:** " + strings.Join(limits, " ") + "\n")
	}
	return strings.TrimSpace(b.String())
}

// quotedTopic names what a request is about: a question by its own words.
func quotedTopic(request string) string {
	if about := topic(request); !asks.MatchString(about + "?") {
		return about
	}
	return "“" + clip(firstSentence(request), 120) + "”"
}

// highlights gives the first line of text under each heading of the clean document,
// and how many more headings there are.
func (p *part) highlights() (lines []string, more int) {
	text, _ := p.result(toolReadClean, 0)
	if !strings.HasPrefix(text, "#") { // it was not called, or says that nothing has changed
		text, _ = p.result(toolReadDocument, 0)
	}
	section, title, used := "", "", true
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			title, used = m[2], false
			if slotLine.MatchString(line) {
				title = placeTitle(m[2])
			}
			if len(m[1]) <= 2 {
				section = title
			} else if section != "" {
				title = section + ", " + title
			}
			continue
		}
		if m := entryLine.FindStringSubmatch(line); m != nil {
			line = m[3]
		}
		if used || line == "" {
			continue
		}
		used = true
		if len(lines) == maxSummaryLines {
			more++
			continue
		}
		lines = append(lines, fmt.Sprintf("- *%s*: %s", title, plainSentence(line)))
	}
	return lines, more
}

// placeTitle words the address of a slot as the clean document does: `day=1
// time_slot=morning` is "Day 1, Morning".
func placeTitle(address string) string {
	var parts []string
	for _, m := range argument.FindAllStringSubmatch(address, -1) {
		value := parseAddress(m[0])[m[1]]
		switch {
		case m[1] == "day" && value == "0":
			value = "general"
		case m[1] == "day":
			value = "day " + value
		case len(parts) > 0 && (value == "general" || value == "main"):
			continue
		}
		parts = append(parts, upperFirst(strings.NewReplacer("_", " ", "-", " ").Replace(value)))
	}
	return strings.Join(parts, ", ")
}

// plainSentence gives the first sentence of a line without its marks, with the next
// one if the first is a mere title.
func plainSentence(line string) string {
	const title, longest = 60, 240
	line = strings.ReplaceAll(strings.TrimLeft(line, "-*> "), "**", "")
	for at := 0; ; {
		end := strings.Index(line[at:], ". ")
		if end < 0 {
			return clip(line, longest)
		}
		if at += end + 1; at > title {
			return clip(line[:at], longest)
		}
	}
}

// limitations says what did not work out.
func (p *part) limitations() []string {
	var list []string
	var open, declined []string
	for _, t := range p.board() {
		switch {
		case t.done, t.replaced:
		case t.declined:
			declined = append(declined, fmt.Sprintf("#%d (%s)", t.id, t.agent))
		default:
			open = append(open, fmt.Sprintf("#%d (%s)", t.id, t.agent))
		}
	}
	if len(declined) > 0 {
		list = append(list, "Missing, because they were declined: "+strings.Join(declined, ", ")+".")
	}
	if len(open) > 0 {
		list = append(list, "Not finished: "+strings.Join(open, ", ")+".")
	}
	if !p.has(toolCreateTasks) || len(p.board()) == 0 {
		list = append(list, "No plan could be made, so no specialist took part.")
	}
	for _, c := range p.colleagues() {
		if p.failedLast(c.tool) {
			list = append(list, c.id+" could not finish its part.")
		}
	}
	return list
}

// failedLast reports whether the last dispatch of a specialist failed.
func (p *part) failedLast(tool string) bool {
	bad := false
	for _, e := range p.exchanges {
		if e.name == tool && e.valid && e.answered {
			bad = refused(e.result) || failed.MatchString(e.result)
		}
	}
	return bad
}
