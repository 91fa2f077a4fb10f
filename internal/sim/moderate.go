package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
	"github.com/convene-run/convene/internal/quote"
)

var (
	// returned is what the facilitator is told when a specialist gives the conversation
	// back, with how that ended.
	returned = lazyregexp.New(`(?i)(\S+) gives the conversation back \((\w+)\):[ \t]*(.*)`)
	// handoffNote is what the engine tells the facilitator of handoffs, in place of the user.
	handoffNote = lazyregexp.New(`(?m)\A(?:\S+ gives the conversation back \(\w+\):|The conversation could not be handed over to |This was refused:|The session with .{1,300} was closed:|The user's message asks for |Session \w+ with .{1,300} was left\b)`)
	// saved is a session that can be continued, and sentence what the user is to read.
	saved    = lazyregexp.New(`Session (\w+) with (\S+) was left\b`)
	sentence = lazyregexp.New(`(?m)Say in the user's language:[ \t]*(.+)$`)
	// continues is a message that takes a saved session up again, anew one that does not.
	continues = lazyregexp.New(`(?i)\b(?:continue|resume|go on|carry on|where (?:i|we) (?:left|stopped|were)|pick up)\b|^\W*(?:yes|yes please|sure|ok|okay)\W*$`)
	anew      = lazyregexp.New(`(?i)\b(?:anew|from scratch|start over|start again|a new one|fresh)\b`)
	// made announces what a specialist made, in the line or quoted below it.
	made = lazyregexp.New(`(?m)^It made:[ \t]*(.*)`)
	// target is one whom the conversation can be handed to, in the tool's description.
	target = lazyregexp.New(`(?m)^- ([\w-]+): (.*)$`)
	// planned is a request for work, however short.
	planned = lazyregexp.New(`(?i)\b(?:plan|compare|write|research|review|design|draft|prepare|create|build|organi[sz]e|analy[sz]e|launch)\b`)
	// remark is what continues an earlier exchange, by its beginning or by what it refers to.
	remark = lazyregexp.New(`(?i)^\W*(?:and|but|so|also|what about|how about|thanks?|thank you|ok|okay|great|perfect|yes|no|remind me|summari[sz]e)\b|\b(?:it|that|those|there|you said|before|earlier|again|was|were|did|instead|cheaper|shorter|longer)\b`)
	// thanks asks for nothing.
	thanks = lazyregexp.New(`(?i)^\W*(?:thanks?|thank you|great|perfect|ok|okay|that(?:'s| is) all|bye)\b[^?]{0,60}$`)
	greets = lazyregexp.New(`(?i)^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|how are you)\b[^.!?]{0,20}[.!?]*$`)
	// asks is a question about something, rather than a request for it.
	asks = lazyregexp.New(`(?is)^\W*(?:what|how|why|which|who|when|where|is|are|does)\b.*\?\s*$`)
	// journey is a request for a plan of one; somewhere says where it goes.
	journey   = lazyregexp.New(`(?i)\b(?:trip|holiday|vacation|journey|city break)\b`)
	somewhere = lazyregexp.New(`\b(?:to|in|at|around|through|of|for)\s+(?:the\s+)?\p{Lu}`)
	// askMe is a request that wants to be asked first.
	askMe = lazyregexp.New(`(?i)\bask (?:me|us)\b`)
)

// human is the target that is a person.
const human = "human"

// maxRemarkWords is how long a message that continues an earlier exchange is at most.
const maxRemarkWords = 14

// moderate plays what the facilitator does in a conversation instead of a plan: it says that
// it is back, hands over, asks the user, or answers a remark at once. It reports whether it
// did one of these.
func (p *part) moderate() bool {
	if p.welcomeBack() {
		return true
	}
	if len(p.board()) > 0 || p.has(toolCreateTasks) {
		return false
	}
	talk := len(p.earlier) > 0 || p.offered(toolHandOver)
	switch {
	case p.takeUpSaved(), p.askUser(), p.handOver():
	case talk && greets.MatchString(p.request):
		p.reply.Text = "Hello! What can I do for you?"
	case len(p.earlier) > 0 && p.isRemark():
		p.reply.Text = p.remarkAnswer()
	default:
		return false
	}
	return true
}

// welcomeBack answers the user when a specialist has just given the conversation back.
func (p *part) welcomeBack() bool {
	m := returned.FindStringSubmatch(p.notes)
	if m == nil {
		return false
	}
	result := p.quotedAfter(m[0], m[3])
	switch m[2] {
	case "completed":
		p.reply.Text = "That is settled: " + lowerFirst(result)
		if list := made.FindStringSubmatch(p.notes); list != nil {
			p.reply.Text += fmt.Sprintf("\n\nMade along the way: %s.", p.quotedAfter(list[0], list[1]))
		}
		p.reply.Text += "\n\nI have the conversation again. What can I do next?"
	case "cancelled":
		p.reply.Text = "No problem, I'm back. " + p.told("What you said is kept.")
	default:
		p.reply.Text = "I'm sorry, that could not be finished. " + upperFirst(result) + " Shall I try another way, or help with something else?"
	}
	return true
}

// told gives the sentence that the engine wants the user to read, else another.
func (p *part) told(otherwise string) string {
	if m := sentence.FindStringSubmatch(p.notes); m != nil {
		return strings.TrimSpace(m[1])
	}
	return otherwise
}

// takeUpSaved continues a session that was left where the message wants that, begins anew
// where it wants that, and says what the engine wants said of one that was refused or can be
// continued. It reports whether it did one of these.
func (p *part) takeUpSaved() bool {
	m := saved.FindStringSubmatch(p.notes + p.refusedHandoff())
	switch {
	case m != nil && p.resumable() && continues.MatchString(p.request):
		p.handTo(m[2], p.request, m[1])
	case m != nil && p.resumable() && anew.MatchString(p.request):
		p.handTo(m[2], p.request, "new")
	case strings.HasPrefix(p.notes, "Session "), p.notes == "" && m == nil:
		return false // nobody asked for it
	default:
		name := "that"
		if m != nil {
			name = strings.ReplaceAll(identifier(m[2]), "_", " ")
		}
		p.reply.Text = p.told("Would you like to continue with " + name + ", or begin anew?")
	}
	return true
}

// resumable reports whether a saved session can be taken up in this turn.
func (p *part) resumable() bool {
	tries, fine := p.tried(toolHandOver, 0)
	return p.schema(toolHandOver).Properties["resume"] != nil && !fine && tries < maxTries
}

// refusedHandoff is why the handoff of this job was refused, "" if it was not.
func (p *part) refusedHandoff() (why string) {
	for _, e := range p.exchanges {
		if e.name == toolHandOver && e.valid && e.answered && !e.fine() {
			why = e.result
		}
	}
	return why
}

// quotedAfter gives what follows a line's announcement: the rest of that line, or else the
// quoted lines below it.
func (p *part) quotedAfter(line, rest string) string {
	if rest = strings.TrimSpace(rest); rest != "" {
		return rest
	}
	_, below, _ := strings.Cut(p.notes, line+"\n")
	var lines []string
	for text := range strings.SplitSeq(below, "\n") {
		text, quoted := strings.CutPrefix(text, quote.Mark)
		if !quoted {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// handOver hands the conversation to the specialist whose field the message names, once in a
// job. Where that is refused, the user is told why.
func (p *part) handOver() bool {
	if why := p.refusedHandoff(); why != "" {
		p.reply.Text = "I wanted to hand you over, and that is not possible now: " + withoutError(why)
		return true
	}
	if p.has(toolHandOver) || thanks.MatchString(p.request) {
		return false
	}
	who := p.suits(p.request)
	if wantsPerson.MatchString(p.request) && slices.Contains(p.schema(toolHandOver).Properties["target"].enumOf(), human) {
		who = human
	}
	if who == "" {
		return false
	}
	p.handTo(who, p.request, "")
	return true
}

// handTo calls for the handoff; resume is the saved session that goes on, "" for none.
func (p *part) handTo(who, request, resume string) {
	args := p.requiredArguments(toolHandOver)
	args["target"] = who
	if resume != "" {
		args["resume"] = resume
	}
	args["reason"] = "the request is in the field of " + who
	args["summary"] = clip("The user writes: "+strings.Join(strings.Fields(request), " "), 1500)
	p.reply.Text = "I'll connect you with " + strings.ReplaceAll(identifier(who), "_", " ") + "."
	p.call(toolHandOver, args)
}

// withoutError takes the mark off a tool result that is an error.
func withoutError(result string) string {
	_, text, found := strings.Cut(result, ": ")
	if !found {
		text = result
	}
	return upperFirst(text)
}

// suits gives the target whose description shares most words with the message, "" if none
// shares any. A question about something needs two: who asks what a thing is does not want
// one made.
func (p *part) suits(message string) string {
	tool := p.tool(toolHandOver)
	if tool == nil {
		return ""
	}
	asked, best, most := stems(message), "", 0
	for _, m := range target.FindAllStringSubmatch(tool.Description, -1) {
		shared := 0
		for word := range stems(m[1] + " " + m[2]) {
			if asked[word] {
				shared++
			}
		}
		if shared > most && (shared > 1 || !asks.MatchString(message)) {
			best, most = m[1], shared
		}
	}
	if ids := p.schema(toolHandOver).Properties["target"]; best != "" && ids != nil && len(ids.Enum) > 0 && !slices.Contains(ids.enumStrings(), best) {
		return ""
	}
	return best
}

// askUser asks, once in a job, for what a request is missing. The answer joins the request.
func (p *part) askUser() bool {
	for _, e := range p.exchanges {
		if e.name == toolAskUser && e.fine() {
			joint := " with "
			if journey.MatchString(p.request) {
				joint = " to "
			}
			p.request = strings.TrimRight(p.request, " .!?\n") + joint + strings.TrimSpace(e.result)
		}
	}
	if !p.offered(toolAskUser) || p.has(toolAskUser) {
		return false
	}
	var question string
	switch {
	case journey.MatchString(p.request) && !somewhere.MatchString(p.request):
		question = "Where should it go, and for how many days?"
	case askMe.MatchString(p.request):
		question = "What matters most to you about " + topic(askMe.ReplaceAllString(p.request, "")) + "?"
	default:
		return false
	}
	s := p.schema(toolAskUser)
	args := p.requiredArguments(toolAskUser)
	args[s.property(func(_ string, q *schema) bool { return q.is("string") })] = question
	p.call(toolAskUser, args)
	return true
}

// isRemark reports whether the message continues what was said before, rather than asks for
// new work.
func (p *part) isRemark() bool {
	return len(strings.Fields(p.request)) <= maxRemarkWords && !planned.MatchString(p.request) && remark.MatchString(p.request)
}

// recalling begins an answer that only repeats an earlier one.
const recalling = "You asked about "

// remarkAnswer answers a message that continues earlier exchanges, from those.
func (p *part) remarkAnswer() string {
	if thanks.MatchString(p.request) {
		return "You're welcome."
	}
	about := p.recall(p.request)
	if text := p.furtherAnswer(about.request); text != "" {
		return fmt.Sprintf(recalling+"%s before. To that:\n\n%s", quotedTopic(about.request), text)
	}
	return fmt.Sprintf(recalling+"%s before. What I said then holds: %s\n\n"+
		"A simulated model has no more to say to “%s”; a real one would go on from here.",
		quotedTopic(about.request), plainSentence(firstText(about.answer)), clip(strings.TrimSpace(p.request), 120))
}

// furtherAnswer says more of what an earlier request was about, where the model knows what
// is asked for now; else "".
func (p *part) furtherAnswer(earlier string) string {
	asked := stems(p.request)
	now := p.request
	p.request = earlier
	defer func() { p.request = now }()
	about := p.matter()
	if about == nil {
		return ""
	}
	for i := range about.Angles {
		angle := &about.Angles[i]
		if sharedWords(asked, angle.Title+" "+angle.Fits()) == 0 {
			continue
		}
		if text, ok := p.known(task{text: p.angleText(about, angle, nil, 0)}, 0); ok {
			return text
		}
	}
	return ""
}

// recall gives the earlier exchange that shares most words with a message: of several the
// newest, and one that was itself about nothing only where there is no other.
func (p *part) recall(message string) saying {
	asked, best, most := stems(message), p.earlier[len(p.earlier)-1], -1
	for i := len(p.earlier) - 1; i >= 0; i-- {
		e := p.earlier[i]
		if thanks.MatchString(e.request) || greets.MatchString(e.request) || strings.HasPrefix(e.answer, recalling) || len(strings.Fields(e.request)) < 2 {
			continue
		}
		shared := 0
		for word := range stems(e.request) {
			if asked[word] {
				shared++
			}
		}
		if shared > most {
			best, most = e, shared
		}
	}
	return best
}

// firstText gives the first line of a text that says something, a list's point before what
// announces it.
func firstText(text string) string {
	first := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "-"):
			if _, point, found := strings.Cut(line, "*: "); found {
				return point
			}
			return line
		case first == "":
			first = line
		}
	}
	return first
}
