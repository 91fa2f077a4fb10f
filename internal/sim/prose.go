package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// The sentences are filled from the request, the task and the team. {S} is the
// subject with a capital, {s} without, {d} names the day or is empty.
var (
	taskVerbs = []string{"Shortlist", "Outline", "Recommend", "Check", "Compare", "Work out", "Research", "Describe"}

	entryOpenings = []string{
		"**{S}{d}.** Two directions are worth the effort here, and the first needs less preparation.",
		"**{S}{d}.** The simplest plan holds up best, so start there and keep one alternative in hand.",
		"**{S}{d}.** Most of the value comes from a few choices made early; the rest can stay open.",
		"{S}{d} should be settled before the details around it, because other parts of the plan depend on it.",
		"For {s}{d}, a short list beats a long one: three candidates were kept and the others dropped.",
		"{S}{d}: the obvious choice is a good one, with two small changes that make it more robust.",
		"Looking at {s}{d}, cost and time pull in different directions; the middle way is the safest.",
		"On {s}{d}: easier than it looks, once the order of the steps is fixed.",
	}
	entryPoints = []string{
		"**First choice:** the one closest to the rest of the plan; it saves time at both ends.",
		"**Alternative:** a quieter option with the same benefits, good when the first is taken.",
		"**Cost:** stay in the middle of the usual range and keep about a tenth in reserve.",
		"**Timing:** begin early and leave half an hour of slack before the next step.",
		"**Booking:** reserve a few days ahead, since the popular options fill up first.",
		"**Risk:** the plan depends on one confirmation; ask for it in writing.",
		"**Effort:** light, with one longer stretch in the middle that can be split in two.",
		"**For a group:** agree on one meeting point and one person who decides.",
		"**If it rains or slips:** move this part to the end and swap it with something indoors.",
		"**Worth skipping:** the option that everybody lists first; it takes long and adds little.",
		"**Quality check:** look at the newest reviews or figures, not at the average of all years.",
		"**Next step:** confirm the first choice and note the reference where all can find it.",
	}
	entrySentences = []string{
		"Start with the option that fits the rest of the plan best and treat the others as a reserve.",
		"A middle budget covers it comfortably, with a small margin for surprises.",
		"Leave some slack before and after, because this part tends to run over.",
		"What speaks for it is simplicity: few people are involved and little can go wrong.",
		"The main risk is late confirmation, so ask early and keep the answer at hand.",
		"If plans change, it can be moved by a day without touching anything else.",
		"It combines well with what the other fields contribute and needs no special preparation.",
		"Two details matter more than the rest: the opening hours and the way there.",
		"Past experience suggests that fewer and better choices lead to a calmer result.",
	}
	entryClosings = []string{
		"Everything else can be decided on the spot.",
		"This is enough to decide; more detail would not change the choice.",
		"If only one thing is fixed in advance, let it be this one.",
		"The remaining open point is a date, which the others can set.",
		"Revisit it once, shortly before it matters.",
	}
	bridges = []string{
		"These points belong together and are best read in this order.",
		"The specialists agree on the main line here; their parts complement each other.",
		"Taken together, this gives one consistent picture.",
		"The following contributions cover the same ground from different sides.",
	}
	dispatchMessages = []string{
		"Please take %s of %d for %s. Keep it short and concrete, and stay in your field.",
		"%s of %d are yours, for %s. Write what you would decide on; the others cover the rest.",
		"For %[3]s: please work on %[1]s of %[2]d. A few clear points are better than many.",
	}
)

// usualDays is how long a plan by days is when the request does not say.
const usualDays = 2

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
	dice := p.dice("entry", t.text, strconv.Itoa(day), p.system)
	about, _, _ := strings.Cut(subject(t.text), " for ")
	when := ""
	if day > 0 {
		when = fmt.Sprintf(", day %d", day)
	}
	fill := strings.NewReplacer("{S}", upperFirst(about), "{s}", lowerFirst(about), "{d}", when)
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

// bridge is the sentence before merged entries.
func bridge(entries []entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.agent + e.text
	}
	return bridges[hash(texts...)%uint64(len(bridges))]
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

// soloAnswer answers without a team.
func (p *part) soloAnswer() string {
	dice := p.dice("solo", p.request)
	about := topic(p.request)
	fill := strings.NewReplacer("{S}", upperFirst(about), "{s}", lowerFirst(about), "{d}", "")
	return strings.Join([]string{
		fill.Replace(pick(dice, entryOpenings)),
		"- " + strings.Join(some(dice, entryPoints, 4), "\n- "),
		strings.Join(some(dice, entrySentences, 2), " ") + " " + pick(dice, entryClosings),
	}, "\n\n")
}
