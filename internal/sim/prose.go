package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// The sentences are filled from the request, the task and the team. {S} is the
// subject with a capital, {d} names the day or is empty.
var (
	taskVerbs = []string{"Shortlist", "Outline", "Recommend", "Check", "Compare", "Work out", "Research", "Describe"}

	// unknownSubject is what an answer says of a request that the simulated model knows
	// nothing of.
	unknownSubject = "The simulated model knows nothing of this: it shows how a run goes, and the text only fills its places. It knows a few cities, a few things that people compare, and some mistakes in code; for anything else, name a real model with `--model`."

	// The simulated model knows nothing of most things, and says so: what it writes then
	// shows where an answer stands and how a run goes, in about as many words.
	entryOpenings = []string{
		"**{S}{d}.** The simulated model knows nothing of this: the text only shows where a real model's answer stands.",
		"**{S}{d}.** No real model wrote this, so there is nothing to rely on; it shows how a run goes.",
		"**{S}{d}.** Here stands what a real model finds out; the simulated one has no knowledge of it.",
		"**{S}{d}.** The simulated model has no facts about this and invents none.",
		"**{S}{d}.** This is an outline by the simulated model: it shows what an answer contains, and no more.",
		"**{S}{d}.** This takes a model that knows the subject; the simulated one plays the part and says so.",
	}
	entryPoints = []string{
		"**First choice:** one option, with the reason why it fits the rest.",
		"**Alternative:** a second option, and when it is the better one.",
		"**Cost:** an amount with its unit, and what it rests on.",
		"**Timing:** when it begins, how long it takes, what it waits for.",
		"**Sources:** where each statement comes from, and how firm it is.",
		"**Risk:** what would make it fail, and how that is noticed early.",
		"**Effort:** who does it, and how many hours it takes.",
		"**For whom:** who needs it, and who can leave it out.",
		"**If it slips:** what moves along, and what stays where it is.",
		"**Worth skipping:** what everybody names first and nobody needs.",
		"**Quality check:** by which figure or example it is judged.",
		"**Next step:** what is decided now, by whom, until when.",
	}
	entrySentences = []string{
		"A real model would name the option that fits the request and say why.",
		"It would give figures with their unit and date, and say which of them are assumed.",
		"It would keep to its own field and leave the rest to the other specialists.",
		"It would say what is firm, what is likely, and what must be checked first.",
		"It would refer to what the others wrote where its own part depends on that.",
		"It would come to a recommendation that can be acted on.",
		"It would name the two or three points on which the outcome turns.",
		"It would mention what it left out, and for which reason.",
		"It would answer in the language of the request and without preamble.",
	}
	entryClosings = []string{
		"With `--model` a real model takes this part.",
		"The plan, the parallel work and the document are real; this text is not.",
		"Everything around this text happened as it does with a real model.",
		"The log has who wrote this entry, for which task and in which model call.",
		"Give the run a real model to read an answer here.",
	}
	dispatchMessages = []string{
		"Please take %s of %d for %s. Keep it short and concrete, and stay in your field.",
		"%s of %d are yours, for %s. Write what you would decide on; the others cover the rest.",
		"For %[3]s: please work on %[1]s of %[2]d. A few clear points are better than many.",
	}
)

// usualDays is how long a plan by days is when the request does not say, maxDaysPlanned the
// most that it has.
const (
	usualDays      = 2
	maxDaysPlanned = 14
)

func pick(dice *rand.Rand, list []string) string { return list[dice.IntN(len(list))] }

// some gives n different elements in their order.
func some(dice *rand.Rand, list []string, n int) []string {
	chosen := dice.Perm(len(list))[:n]
	slices.Sort(chosen)
	out := make([]string, n)
	for i, at := range chosen {
		out[i] = list[at]
	}
	return out
}

// taskText words task k of n for a colleague.
func (p *part) taskText(c colleague, k, n int, section string) string {
	fields := aspects(c.id, c.description)
	dice := p.dice("task", p.request, c.id, strconv.Itoa(k))
	text := fmt.Sprintf("%s %s for %s", pick(dice, taskVerbs), fields[k%len(fields)], topic(p.request))
	if p.schema(toolConsolidate).Properties["day"] != nil {
		days := parseDaysAsked(p.request)
		if days == 0 {
			days = usualDays
		}
		text += dayShare(days, k, n)
	}
	if section != "" {
		text += " (" + section + ")"
	}
	return text
}

// dayShare gives task k of n its share of the days.
func dayShare(days, k, n int) string {
	first, last := days*k/n+1, days*(k+1)/n
	switch {
	case last < first:
		return ""
	case first == last:
		return fmt.Sprintf(", day %d", first)
	}
	return fmt.Sprintf(", days %d to %d", first, last)
}

// dispatchMessage is what a specialist is told with his task ids.
func (p *part) dispatchMessage(c colleague, ids []int, total, again int) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = "#" + strconv.Itoa(id)
	}
	which := "tasks " + strings.Join(list, " and ")
	if len(list) == 1 {
		which = "task " + list[0]
	}
	if again > 0 {
		return fmt.Sprintf("Attempt %d: %s still open for %s. Please finish with what you have.", again+1, which, topic(p.request))
	}
	dice := p.dice("dispatch", p.request, c.id)
	return upperFirst(fmt.Sprintf(pick(dice, dispatchMessages), which, total, topic(p.request)))
}

// entryText is what a specialist writes for a task, different for each day.
func (p *part) entryText(t task, day int) string {
	if text, ok := p.known(t, day); ok {
		return text
	}
	dice := p.dice("entry", t.text, strconv.Itoa(day), p.system)
	about, _, _ := strings.Cut(subject(t.text), " for ")
	when := ""
	if day > 0 {
		when = fmt.Sprintf(", day %d", day)
	}
	fill := strings.NewReplacer("{S}", upperFirst(about), "{d}", when)
	parts := []string{fill.Replace(pick(dice, entryOpenings))}
	if dice.IntN(3) == 0 {
		parts[0] += " " + strings.Join(some(dice, entrySentences, 2+dice.IntN(2)), " ")
	} else {
		parts = append(parts, "- "+strings.Join(some(dice, entryPoints, 3), "\n- "))
	}
	if dice.IntN(2) == 0 {
		parts = append(parts, pick(dice, entryClosings))
	}
	return strings.Join(parts, "\n\n")
}

// specialistAnswer is what a specialist returns to the facilitator.
func (p *part) specialistAnswer() string {
	ids := parseAssigned(p.request)
	var did []string
	left := 0
	for _, t := range p.assigned(ids) {
		if p.declined(t.id) {
			continue
		}
		did = append(did, fmt.Sprintf("#%d (%s)", t.id, subject(t.text)))
		if !t.done {
			left++
		}
	}
	_, wrote := p.tried(toolWriteSection, 0)
	switch {
	case len(did) == 0 && p.has(toolDeclineTask):
		return "I declined what I was asked for, with the reason."
	case len(did) == 0:
		return "I was given no task, so I wrote nothing."
	case left == 0:
		return "Nothing to add: " + strings.Join(did, ", ") + " were done before."
	case !wrote:
		return "I could not write to the document. Open: " + strings.Join(did, ", ") + "."
	}
	return "Done with " + strings.Join(did, ", ") + ". The details are in the document."
}

// soloAnswer answers without a team: with what the model knows of the request, else with
// the outline of an answer.
func (p *part) soloAnswer() string {
	dice := p.dice("solo", p.request)
	if found := p.matter(); found != nil {
		return strings.TrimSpace(p.knownAnswer(found) + "\n\n" + found.Note)
	}
	about := topic(p.request)
	fill := strings.NewReplacer("{S}", upperFirst(about), "{d}", "")
	return strings.Join([]string{
		fill.Replace(pick(dice, entryOpenings)),
		"- " + strings.Join(some(dice, entryPoints, 4), "\n- "),
		strings.Join(some(dice, entrySentences, 2), " ") + " " + pick(dice, entryClosings),
	}, "\n\n")
}

// knownAnswer gives the first angles of what the model knows in one text.
func (p *part) knownAnswer(found *matter) string {
	const most = 4 // what one agent says at once
	var texts []string
	for i := range found.left[:min(most, len(found.left))] {
		if text, ok := p.known(task{text: p.angleText(found, &found.left[i], nil, 0)}, 0); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}
