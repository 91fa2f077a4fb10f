package sim

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/internal/quote"
)

// All that the model understands of tool results and messages is in this file. It
// reads leniently: text that matches nothing is text.
var (
	// taskLine is a task of the board: `- [ ] 3 (food) Shortlist restaurants`, or
	// `- [ ] 3 (food, declined) …`.
	taskLine = lazyregexp.New(`(?m)^[ \t]*-[ \t]*\[([ xX])\][ \t]*#?(\d+)[ \t]*\(([^)\n]*)\)[ \t]*(.*)$`)
	// createdLine is the ids that a specialist's new tasks were given: `food: 1, 3`.
	createdLine = lazyregexp.New(`(?m)^(\S+): (\d+(?:, \d+)*)$`)
	// doneTasks is which tasks are done, where they have no lines: `2/3 done (1, 3), open: 2`,
	// or `3/3 done`.
	doneTasks = lazyregexp.New(`^(\d+)/(\d+) done(?: \(([\d, ]+)\))?`)
	// slotLine is a heading that carries the arguments which address its slot:
	// `## day=1 time_slot=morning`.
	slotLine = lazyregexp.New(`^#{1,6}(?:\s+\w+=(?:"(?:[^"\\]|\\.)*"|\S+))+\s*$`)
	argument = lazyregexp.New(`(\w+)=("(?:[^"\\]|\\.)*"|[^\s,;)\]]+)`)
	// entryLine opens an entry of the tagged document: `[food] (entry 12)`.
	entryLine = lazyregexp.New(`^\s*\[([^\]]+)\]\s*\(entry\s+#?(\d+)[^)]*\)[ \t]*(.*)$`)
	heading   = lazyregexp.New(`^(#{1,6})\s+(.*\S)`)
	// ownSlots is a line of a parameter's description that lists a section's slots:
	// `findings: background, evidence`.
	ownSlots = lazyregexp.New(`(?m)^(\w[\w-]*):[ \t]*(.+)$`)
	// assignedIDs is how a specialist is told its tasks: `Your tasks: 1, 2`.
	assignedIDs = lazyregexp.New(`(?i)tasks?(?:\s+ids?)?\W{0,6}((?:#?\d+\b(?:\s*(?:,|and|&)\s*)*)+)`)
	// sentAgain is in the message to a specialist that was sent for its tasks before.
	sentAgain = lazyregexp.New(`\bAttempt \d+:`)
	number    = lazyregexp.New(`\d+`)
	// briefed is a task in the message that assigns it: `- 3: Shortlist restaurants`, or
	// quoted below where it has several lines.
	briefed = lazyregexp.New(`(?m)^- (\d+):(?: |\n> )(.+)$`)
	// brokenArguments is what a client says of arguments that did not arrive whole.
	brokenArguments = lazyregexp.New(`(?i)not valid json|invalid json|do not parse`)
	// refusal begins a tool result that is no result.
	refusal = lazyregexp.New(`(?i)^\W*(error|refused|rejected|invalid|unknown|cannot|can't|could not|failed|not allowed|no such|limit|denied|nothing was|timed? ?out|there is no|task \d+ is not yours|section \S+ has no|\w+ (?:"[^"\n]*" )?(?:is missing|does not exist|must be))\b`)
	// failed is the result of a specialist that did not end well.
	failed = lazyregexp.New(`(?i)^\W*(?:\w+[\s:]+){0,4}(failed|timed out|unavailable|cancelled|did not (?:finish|answer))\b`)
	// leftOpen is the result of a specialist that did not do all its tasks.
	leftOpen = lazyregexp.New(`^\S+ left tasks open:`)
	// nudge tells a synthetic user message, by its beginning, from a new request.
	nudge = lazyregexp.New(`(?is)^.{0,60}?\b(still (?:open|unfinished)|(?:open|unfinished) tasks?|last turn|answer now|wrap up|(?:reply|answer) was (?:empty|cut))\b`)
	// answerNow is the nudge that leaves no choice but to answer.
	answerNow = lazyregexp.New(`(?i)\blast turn\b|\banswer now\b|\bwrap up\b|without calling a tool|no (?:more|further) tool`)
	// answerSchema announces the JSON Schema that an answer must fit, which follows.
	answerSchema = lazyregexp.New(`(?i)\bjson schema\b[^\n]*:[ \t]*\n`)
	// restAsked asks for the calls of a reply that did not arrive.
	restAsked = lazyregexp.New(`(?i)\breply was cut off\b`)
	// weekendAsked, weekAsked and dayAsked are lengths of a trip in other words.
	weekendAsked = lazyregexp.New(`(?i)\b(long[\s-]+)?(?:weekend|wochenende|fin de semana)\b`)
	weekAsked    = lazyregexp.New(`(?i)\b(a|one|two|\d)[\s-]+weeks?\b`)
	dayAsked     = lazyregexp.New(`(?i)\b(?:a|one|1)[\s-]+day\b`)
	// daysAsked is how many days a request asks for; dayRange and oneDay are the days that a task names.
	daysAsked = lazyregexp.New(`(?i)\b(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)[\s-]+(?:\w+[\s-]+)?(?:days?|nights?|tagen?|nächten?|jours?|días|dias|giorni)(?:\PL|$)`)
	dayRange  = lazyregexp.New(`(?i)\bdays?\s+(\d{1,2})\s*(?:to|-|–|and)\s*(\d{1,2})\b`)
	oneDay    = lazyregexp.New(`(?i)\bday\s+(\d{1,2})\b`)
)

// clippedArguments stands in place of the arguments of a refused call that were too long
// to be sent back.
const clippedArguments = "_clipped"

// task is one line of the board.
type task struct {
	id    int
	agent string
	text  string
	done  bool
	// declined is set where the specialist said that it cannot do the task, replaced
	// where another stands in for it.
	declined, replaced bool
}

func parseTasks(text string) []task {
	var tasks []task
	if !strings.Contains(text, "- [") {
		return nil
	}
	for _, m := range taskLine.FindAllStringSubmatch(text, -1) {
		id, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		agent, standing, _ := strings.Cut(m[3], ",")
		tasks = append(tasks, task{
			id: id, agent: strings.TrimSpace(agent), text: strings.TrimSpace(m[4]), done: m[1] != " ",
			declined: strings.Contains(standing, "declined"), replaced: strings.Contains(standing, "replaced"),
		})
	}
	return tasks
}

// parseCreated gives the tasks that a result of create_tasks says were created. Their texts
// are in the call.
func parseCreated(text string) []task {
	tasks := parseTasks(text)
	if !strings.HasPrefix(text, "Created") {
		return tasks
	}
	for _, m := range createdLine.FindAllStringSubmatch(text, -1) {
		for _, id := range parseNumbers(m[2]) {
			tasks = append(tasks, task{id: id, agent: m[1]})
		}
	}
	return tasks
}

// markDone notes which of the tasks are done as the first line on the plan says it: by id, or
// that all are.
func markDone(known map[int]task, text string) {
	m := doneTasks.FindStringSubmatch(text)
	if m == nil {
		return
	}
	ids := parseNumbers(m[3])
	if m[1] == m[2] {
		ids = slices.Collect(maps.Keys(known))
	}
	for _, id := range ids {
		t := known[id]
		t.id, t.done = id, true
		known[id] = t
	}
}

// parseBriefing reads the tasks of the message that assigns them.
func parseBriefing(text string) []task {
	var tasks []task
	for _, m := range briefed.FindAllStringSubmatch(text, -1) {
		if id, err := strconv.Atoi(m[1]); err == nil {
			tasks = append(tasks, task{id: id, text: strings.TrimSpace(m[2])})
		}
	}
	return tasks
}

// slot is one slot of the tagged document with its entries.
type slot struct {
	address map[string]string
	entries []entry
}

type entry struct {
	id    int
	agent string
	text  string
}

func parseDocument(text string) []slot {
	var slots []slot
	for line := range strings.SplitSeq(text, "\n") {
		bare, quoted := unquoted(line)
		if !quoted && slotLine.MatchString(line) {
			slots = append(slots, slot{address: parseAddress(line)})
			continue
		}
		if len(slots) == 0 {
			continue
		}
		here := &slots[len(slots)-1]
		if m := entryLine.FindStringSubmatch(line); m != nil && !quoted {
			id, err := strconv.Atoi(m[2])
			if err != nil {
				continue
			}
			here.entries = append(here.entries, entry{id: id, agent: m[1], text: m[3]})
			continue
		}
		if n := len(here.entries); n > 0 {
			here.entries[n-1].text += "\n" + bare
		}
	}
	for _, sl := range slots {
		for i := range sl.entries { // blank lines depend on what comes next
			sl.entries[i].text = strings.TrimSpace(sl.entries[i].text)
		}
	}
	return slots
}

// unquoted takes the mark off a quoted line, and reports whether it had one.
func unquoted(line string) (bare string, quoted bool) {
	if bare, quoted = strings.CutPrefix(line, quote.Mark); !quoted {
		return line, false
	}
	return strings.TrimPrefix(bare, " "), true
}

func parseAddress(line string) map[string]string {
	address := map[string]string{}
	for _, m := range argument.FindAllStringSubmatch(line, -1) {
		value := m[2]
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		address[m[1]] = value
	}
	return address
}

// parseAssigned gives the task ids that a specialist was told.
func parseAssigned(text string) []int {
	if m := assignedIDs.FindStringSubmatch(text); m != nil {
		return parseNumbers(m[1])
	}
	first, _, _ := strings.Cut(text, "\n")
	return parseNumbers(first)
}

func parseNumbers(text string) []int {
	var numbers []int
	for _, s := range number.FindAllString(text, -1) {
		if n, err := strconv.Atoi(s); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// refused reports whether a tool result is an error.
func refused(result string) bool {
	if refusal.MatchString(result) {
		return true
	}
	var object struct {
		Error any `json:"error"`
	}
	return strings.HasPrefix(strings.TrimSpace(result), "{") &&
		json.Unmarshal([]byte(result), &object) == nil && object.Error != nil
}

var numberWords = map[string]int{
	"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}

// parseDaysAsked gives the number of days that a request is about, 0 if none.
func parseDaysAsked(text string) int {
	if m := daysAsked.FindStringSubmatch(text); m != nil {
		return parseCount(m[1])
	}
	if m := weekendAsked.FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			return 3
		}
		return 2
	}
	if m := weekAsked.FindStringSubmatch(text); m != nil {
		return 7 * parseCount(m[1])
	}
	if dayAsked.MatchString(text) {
		return 1
	}
	return 0
}

func parseCount(word string) int {
	if n, ok := numberWords[strings.ToLower(word)]; ok {
		return n
	}
	n, _ := strconv.Atoi(word)
	return n
}

// parseDays gives the days that a task names, none if it names none.
func parseDays(text string) []int {
	if m := dayRange.FindStringSubmatch(text); m != nil {
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(m[2])
		var list []int
		for day := first; day <= last && len(list) < maxEntriesPerTask; day++ {
			list = append(list, day)
		}
		return list
	}
	if m := oneDay.FindStringSubmatch(text); m != nil {
		day, _ := strconv.Atoi(m[1])
		return []int{day}
	}
	return nil
}
