package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

var (
	// handedContext is what a specialist is told before the user's first message.
	handedContext = lazyregexp.New(`(?s)^\[Context from previous agent \(([^)]*)\)\]:\s*(.*)`)
	// phaseNote is what the engine tells a specialist whose phase begins, or begins again.
	phaseNote = lazyregexp.New(`^(?:Your phase begins now|.{1,300} could not take over, so you have the conversation again)\b`)
	// resumedNote is what the engine tells a specialist that goes on where it was left.
	resumedNote = lazyregexp.New(`^\[You have the conversation with the user again\b`)
	// unsettled is an answer after which a case is not over.
	unsettled = lazyregexp.New(`(?i)^\W*no\b|\b(?:not|still|unsure|unclear|nothing)\b|n[’']t\b`)
	// handedOver is what a specialist reads in place of a message where a program handed over
	// to it, or it has the conversation again.
	handedOver = lazyregexp.New(`^\[(?:The conversation is handed|You have the conversation)`)
	// leaves and finishes are messages by which the user ends the work with a specialist.
	leaves   = lazyregexp.New(`(?i)^\W*(?:never ?mind|stop|forget it|leave it|quit|no thanks|i(?:'ve| have) changed my mind)\b`)
	finishes = lazyregexp.New(`(?i)^\W*(?:that(?:'s| is) (?:all|it)|i(?:'m| am) done|nothing else|thanks?,? that(?:'s| is) all)\b`)
	// resumes is a message that takes up an unfinished work and answers nothing.
	resumes = lazyregexp.New(`(?i)^\W*(?:(?:yes|ok(?:ay)?|sure|please|let[’']?s|let us)[, ]+)*(?:continue|go on|resume|carry on|pick up|where were we)\b`)
	// consents is an answer that adds nothing.
	consents = lazyregexp.New(`(?i)^\W*(?:(?:yes|no|ok(?:ay)?|sure|fine|good|great|perfect|right|it does|go ahead|finish it|please|thanks?|thank you|nothing|looks? (?:right|good|fine)|that(?:'s| is) (?:right|fine|good|all))\W*)+$`)
	// wantsPerson is a message that asks for a human.
	wantsPerson = lazyregexp.New(`(?i)\b(?:a human|a person|a real person|someone real|somebody real|real human|human being|your manager|a colleague of yours)\b`)
	// question is a sentence that asks, with those that follow it at once; announced is what
	// stands before it ("Ask: ").
	question  = lazyregexp.New(`[^.?!;"“”]+\?(?:\s+[^.?!;"“”]+\?)*`)
	announced = lazyregexp.New(`^[^?]*?:\s+(\p{Lu})`)
	artifact  = lazyregexp.New(`\b[A-Z][A-Za-z_]*\.(?:md|yaml|json)\b`)
	// makes and tries say by its name what a step of a workflow is for.
	makes = lazyregexp.New(`(?i)generat|draft|writ|build|creat|propos`)
	tries = lazyregexp.New(`(?i)test|check|verif|review|validat`)
)

const (
	// questionsAsked is how many questions a specialist without steps asks at most.
	questionsAsked = 3
	maxAnswerChars = 300
)

// session is a specialist's talk with the user, as its history tells it.
type session struct {
	// brief is what the specialist was told, wants what the user wrote first.
	brief, wants string
	// answers are the user's answers to the specialist's questions so far.
	answers []string
	// last is the user's newest message, and aside is set where it answers no question;
	// back is set where the talk has just been taken up again.
	last        string
	aside, back bool
	// state is the step that the history says it has reached, "" before the first.
	state string
}

// readSession reads the talk from the messages. A question that the user asks back, or a
// wish to go on, is no answer: the specialist's question stands.
func (p *part) readSession() *session {
	s := &session{}
	asked := false
	for _, m := range p.req.Messages {
		switch m.Role {
		case events.RoleUser:
			s.hear(m.Content, asked)
		case events.RoleAssistant:
			s.back = false
			asked = asked || len(m.ToolCalls) == 0 && m.Content != ""
			for _, call := range m.ToolCalls {
				if e := newExchange(0, call); e.name == toolSetState {
					s.state = jsonText(e.args["state"])
				}
			}
		}
	}
	return s
}

func (s *session) hear(text string, asked bool) {
	if m := handedContext.FindStringSubmatch(text); m != nil {
		s.brief = strings.TrimSpace(m[2])
		return
	}
	if resumedNote.MatchString(text) {
		s.back = true
		return
	}
	if nudge.MatchString(text) || restAsked.MatchString(text) || phaseNote.MatchString(text) {
		return
	}
	if handedOver.MatchString(text) { // the user has said nothing yet
		s.last, s.aside = "continue", asked
		return
	}
	s.last = strings.TrimSpace(text)
	s.aside = asked && (s.back || strings.HasSuffix(s.last, "?") || resumes.MatchString(s.last))
	switch {
	case !asked && s.wants == "":
		s.wants = s.last
	case asked && !s.aside:
		s.answers = append(s.answers, s.last)
	}
}

// asked is what the user wants, in the user's words or those of the agent before.
func (s *session) asked() string {
	if s.wants != "" && !resumes.MatchString(s.wants) {
		return s.wants
	}
	asked, _, _ := strings.Cut(s.brief, "\n") // what is behind it was said before
	return strings.TrimPrefix(strings.TrimPrefix(asked, "> "), "The user writes: ")
}

// topic is what the talk is about.
func (s *session) topic() string { return topic(s.asked()) }

// converse plays the next turn of a specialist that has the conversation: a step and its
// question, an answer to a question back, or the end.
func (p *part) converse() {
	s := p.readSession()
	steps := p.steps(p.schema(toolSetState).Properties["state"].enumOf())
	at := min(len(s.answers), len(steps)-1)
	switch {
	case p.mustAnswer():
		p.reply.Text = p.ask(s, steps, at)
	case wantsPerson.MatchString(s.last) && p.callPerson(s):
	case leaves.MatchString(s.last):
		p.giveBack(s, events.CompletionCancelled, steps)
	case finishes.MatchString(s.last):
		p.giveBack(s, events.CompletionCompleted, steps)
	case s.aside:
		p.reply.Text = p.asideAnswer(s, steps[at])
	case steps[at].state != "" && s.state != steps[at].state:
		p.enter(s, steps[at])
	case steps[at].ends:
		p.giveBack(s, events.CompletionCompleted, steps)
	default:
		p.reply.Text = p.ask(s, steps, at)
	}
}

// enumOf gives the values of an enum, none where there is no such property.
func (s *schema) enumOf() []string {
	if s == nil {
		return nil
	}
	return s.enumStrings()
}

// step is one step of a specialist with the user; the last one ends.
type step struct {
	state     string // "" where the specialist declares none
	questions []string
	ends      bool
}

// steps gives the specialist's steps: its states, with the questions that its prompt has for
// each, or the questions alone.
func (p *part) steps(states []string) []step {
	prompt, _, _ := strings.Cut(p.system, "\nRules:")
	var steps []step
	if len(states) == 0 {
		for _, q := range questions(prompt) {
			if len(steps) < questionsAsked {
				steps = append(steps, step{questions: []string{q}})
			}
		}
		if len(steps) == 0 && !p.offered(toolCompletePhase) {
			steps = []step{{questions: []string{"What should I know before we go on?"}}}
		}
		return append(steps, step{ends: true})
	}
	for i, state := range states {
		steps = append(steps, step{
			state: state, questions: questions(passage(prompt, state, states)), ends: i == len(states)-1,
		})
	}
	return steps
}

// passage gives the part of a prompt that is about a state: from its name to the next
// state's.
func passage(prompt, state string, states []string) string {
	_, text, found := strings.Cut(prompt, state)
	if !found {
		return ""
	}
	for _, other := range states {
		if at := strings.Index(text, other); at >= 0 {
			text = text[:at]
		}
	}
	return text
}

func questions(text string) []string {
	var list []string
	for _, q := range question.FindAllString(strings.Join(strings.Fields(text), " "), -1) {
		q = strings.TrimLeft(announced.ReplaceAllString(q, "$1"), " :-")
		if len(strings.Fields(q)) > 2 {
			list = append(list, upperFirst(q))
		}
	}
	return list
}

// enter moves the workflow to a step, with what was gathered so far.
func (p *part) enter(s *session, to step) {
	args := map[string]any{"state": to.state}
	if p.schema(toolSetState).Properties["metadata"] != nil {
		args["metadata"] = map[string]any{"goal": clip(s.topic(), maxAnswerChars), "answers": s.kept()}
	}
	p.call(toolSetState, args)
}

// kept are the answers that say something, as they are kept with a step.
func (s *session) kept() []string {
	list := []string{}
	for _, answer := range s.answers {
		if !consents.MatchString(answer) {
			list = append(list, strings.TrimRight(clip(strings.Join(strings.Fields(answer), " "), maxAnswerChars), " ."))
		}
	}
	return list
}

// ask words a step's question, after what the step is about.
func (p *part) ask(s *session, steps []step, at int) string {
	here := steps[at]
	var b strings.Builder
	if len(s.answers) == 0 && s.wants == "" {
		b.WriteString("Let's begin.")
	} else if len(s.answers) == 0 {
		fmt.Fprintf(&b, "Let's take care of this together: “%s”.", strings.TrimRight(clip(s.asked(), 200), " ."))
	} else {
		fmt.Fprintf(&b, "Got it: %s.", strings.TrimRight(clip(s.answers[len(s.answers)-1], 120), " ."))
	}
	switch {
	case makes.MatchString(here.state):
		b.WriteString(" Here is a first version:\n\n" + p.draft(s))
	case tries.MatchString(here.state):
		fmt.Fprintf(&b, " I tried it on an example: %s gave what you described. (A simulated model tried nothing; this shows where the result would stand.)", p.product(s))
	}
	b.WriteString("\n\n")
	if last := len(steps) - 1; last > 1 && here.state == "" {
		fmt.Fprintf(&b, "Question %d of %d: ", at+1, last)
	}
	return b.String() + p.wording(here)
}

// wording is what a step asks.
func (p *part) wording(here step) string {
	if len(here.questions) > 0 {
		return strings.Join(here.questions, "\n")
	}
	return p.plainQuestion(here.state)
}

func (p *part) plainQuestion(state string) string {
	switch {
	case makes.MatchString(state):
		return "Is anything missing, or shall we go on?"
	case tries.MatchString(state):
		return "Shall I finish it like this?"
	}
	return fmt.Sprintf("What should I know about %s?", strings.ReplaceAll(identifier(state), "_", " "))
}

// product names what the specialist makes: a file that its prompt names.
func (p *part) product(s *session) string {
	if file := artifact.FindString(p.system); file != "" {
		return file
	}
	return upperFirst(s.topic())
}

// draft is what the specialist makes of the answers.
func (p *part) draft(s *session) string {
	var b strings.Builder
	fmt.Fprintf(&b, "```markdown\n---\nname: %s\ndescription: %s\n---\n\n# %[2]s\n\n", s.name(), upperFirst(s.topic()))
	for i, answer := range s.kept() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, strings.ReplaceAll(answer, "```", "'''"))
	}
	b.WriteString("```")
	return b.String()
}

// name makes an identifier of what the talk is about.
func (s *session) name() string {
	const longest = 4 // words
	fields := strings.Fields(words(s.topic()))
	fields = slices.DeleteFunc(fields, func(word string) bool { return plainWords.MatchString(word) })
	return strings.Join(fields[:min(len(fields), longest)], "-")
}

// asideAnswer answers a message that is no answer, and repeats the question.
func (p *part) asideAnswer(s *session, here step) string {
	again := p.wording(here)
	if s.back || resumes.MatchString(s.last) {
		return "Welcome back. We were at this: “" + clip(s.asked(), 200) + "”.\n\n" + again
	}
	return "A good question, to which a simulated model has no answer of its own. You can leave at any time: send “cancel”, and what you said is kept.\n\nTo go on: " + lowerFirst(again)
}

// callPerson hands the conversation to a human where that is possible. It reports whether it
// did.
func (p *part) callPerson(s *session) bool {
	targets := p.schema(toolHandOver).Properties["target"].enumOf()
	if !slices.Contains(targets, human) || p.has(toolHandOver) {
		return false
	}
	args := p.requiredArguments(toolHandOver)
	args["target"], args["reason"] = human, "the user asks for a person"
	args["summary"] = p.outcome(s)
	p.reply.Text = "I'll get a person for you."
	p.call(toolHandOver, args)
	return true
}

// outcome sums up what came of the talk.
func (p *part) outcome(s *session) string {
	text, kept := upperFirst(s.topic()), s.kept()
	if s.wants == "" {
		text = strings.TrimRight(strings.Join(strings.Fields(s.brief), " "), " .")
	}
	if len(kept) > 0 {
		joint := ": "
		if strings.Contains(text, joint) {
			joint = "; "
		}
		text += joint + strings.Join(kept, "; ")
	}
	return clip(strings.TrimRight(text, " .")+".", 1500)
}

// giveBack ends the talk: the phase where the conversation has phases, else the session.
// After a refusal or two there is nothing left to do but say so.
func (p *part) giveBack(s *session, status events.CompletionStatus, steps []step) {
	name := toolReturn
	if p.offered(toolCompletePhase) && status == events.CompletionCompleted {
		name = toolCompletePhase
	}
	if tries, fine := p.tried(name, 0); tries >= maxTries || fine {
		p.reply.Text = p.outcome(s)
		return
	}
	args := p.requiredArguments(name)
	for key, q := range p.schema(name).Properties {
		switch {
		case key == "completion_status":
			args[key] = string(status)
		case key == "artifacts_created" && status == events.CompletionCompleted:
			if file := artifact.FindString(p.system); file != "" {
				args[key] = []string{file}
			}
		case key == "next_phase" && len(q.Enum) > 1 && s.isUnsettled():
			args[key] = q.Enum[len(q.Enum)-1]
		case q.is("string") && len(q.Enum) == 0:
			args[key] = p.outcome(s)
		}
	}
	if status == events.CompletionCompleted {
		p.reply.Text = p.closing(s, steps)
	}
	p.call(name, args)
}

// isUnsettled reports whether the newest answer says that the case is not over: the user's,
// or else the last that the agent before passed on.
func (s *session) isUnsettled() bool {
	last := s.brief[strings.LastIndex(s.brief, ";")+1:]
	if len(s.answers) > 0 {
		last = s.answers[len(s.answers)-1]
	}
	return unsettled.MatchString(last)
}

// closing is what the user reads at the end: thanks for the answers, or what a specialist
// made that had nothing to ask.
func (p *part) closing(s *session, steps []step) string {
	if len(steps) > 1 {
		return "Thank you, I have what I need."
	}
	list := strings.Split(strings.TrimRight(p.outcome(s), "."), "; ")
	if subject, first, found := strings.Cut(list[0], ": "); found {
		list = append([]string{subject, first}, list[1:]...)
	}
	return "Here is what came of it, as far as a simulated model can tell:\n\n- " + strings.Join(list, "\n- ")
}
