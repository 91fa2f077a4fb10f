package sim

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/lazyregexp"
)

const maxTopicWords = 10

var (
	// opening is what a request or a task begins with before it names its subject.
	opening   = lazyregexp.New(`(?i)^(?:(?:(?:we|i)['’](?:re|m|d|ll|ve)|going|travell?ing|flying|fly|please|now|hi|hello|can|could|would|you|i|we|need|want|like|to|help|me|us|plan|write|compare|research|create|make|give|draft|design|prepare|find|tell|explain|describe|suggest|recommend|outline|shortlist|check|list|review|analy[sz]e|assess|collect|work|out|about|on|with|organi[sz]e|build|develop)\b[\s,]*)+`)
	clauseEnd = lazyregexp.New(`[.!?;:\n]|,\s|\s[-–—]\s`)
	listSplit = lazyregexp.New(`\s*(?:,|;|\band\b|\bor\b)\s*`)
	wordSplit = lazyregexp.New(`[^\pL\pN]+`)
	// machinery are words of a tool description that say nothing about a field.
	machinery = lazyregexp.New(`(?i)\b(specialists?|agents?|tasks?|ids?|dispatch\w*|calls?|wait\w*|blocks?|returns?|message|summary|team|tool|board|document|runs?|parallel|you|your|them|it|until|ends|when|answers?)\b`)
	// lead is what stands before the thing itself in a phrase of a description: a verb
	// ("Weighs the findings"), a preposition, an article.
	lead = lazyregexp.New(`(?i)^(?:\w{3,}s\s+(?:for\s+)?)?(?:(?:within|with|in|on|of|to|for|by|at|the|an?|from|what|their|its)\s+)*`)
	// trail is what a phrase that was cut in two may end with.
	trail = lazyregexp.New(`(?i)(?:\s+(?:within|with|in|on|of|to|for|by|at|the|an?|from|their|its))+$`)
	// noThing are phrases that name nothing.
	noThing  = lazyregexp.New(`(?i)^(?:where|what|how|that|which|who|when|says?|compares|calculates|finds|writes|checks|looks|gathers|weighs|plans)\b`)
	taskTail = lazyregexp.New(`(?i)(?:,?\s+(?:for\s+)?days?\s+\d+.*|\s*\([^)]*\)\s*)$`)
)

// topic gives what a request is about in a few words.
func topic(request string) string {
	text := strings.TrimSpace(request)
	if rest := opening.ReplaceAllString(text, ""); rest != "" {
		text = rest
	}
	if at := clauseEnd.FindStringIndex(text); at != nil && at[0] > 0 {
		text = text[:at[0]]
	}
	fields := strings.Fields(text)
	if len(fields) > maxTopicWords {
		fields = fields[:maxTopicWords]
	}
	if len(fields) == 0 {
		return "the request"
	}
	return strings.Join(fields, " ")
}

// subject gives what a task is about: its text without the verb before it and the
// days and section behind it.
func subject(taskText string) string {
	text := firstSentence(taskText)
	for trimmed := ""; trimmed != text; {
		trimmed = text
		text = taskTail.ReplaceAllString(text, "")
	}
	if rest := opening.ReplaceAllString(text, ""); rest != "" {
		text = rest
	}
	text = strings.Trim(text, " .,;:")
	if text == "" {
		return "the task"
	}
	return clip(text, 120)
}

func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	if sentence, _, found := strings.Cut(line, ". "); found {
		return sentence
	}
	return line
}

// aspects gives what a specialist's field consists of, from a description like
// "Food specialist: restaurants, markets and local dishes".
func aspects(name, description string) []string {
	name = strings.ReplaceAll(identifier(name), "_", " ")
	var list []string
	for sentence := range strings.FieldsFuncSeq(description, func(r rune) bool { return strings.ContainsRune(".:()\n", r) }) {
		for _, phrase := range listSplit.Split(sentence, -1) {
			phrase = strings.TrimSpace(phrase)
			if rest := lead.ReplaceAllString(phrase, ""); rest != "" {
				phrase = rest
			}
			phrase = trail.ReplaceAllString(phrase, "")
			n := len(strings.Fields(phrase))
			if n > 0 && n <= 4 && len(phrase) > 3 && !machinery.MatchString(phrase) && !noThing.MatchString(phrase) && !strings.EqualFold(phrase, name) {
				list = append(list, lowerFirst(phrase))
			}
		}
		if len(list) >= tasksPerSpecialist {
			return list
		}
	}
	return append(list, name+" options", "practical "+name+" questions")
}

// fieldOf drops the sentences of a description that are about the tool.
func fieldOf(description string) string {
	var kept []string
	for sentence := range strings.SplitSeq(description, ". ") {
		if len(machinery.FindAllString(sentence, 2)) < 2 {
			kept = append(kept, sentence)
		}
	}
	return strings.Join(kept, ". ")
}

// words gives a text in lower case with single spaces between its words.
func words(text string) string {
	return strings.TrimSpace(wordSplit.ReplaceAllString(strings.ToLower(text), " "))
}

// plainWords say nothing about a field.
var plainWords = lazyregexp.New(`^(?:a|an|the|and|or|of|to|for|with|in|on|at|by|from|about|as|is|are|be|was|has|have|had|do|does|did|will|would|can|could|should|what|who|how|why|when|where|which|that|this|these|those|it|its|i|me|my|we|us|our|you|your|he|she|they|them|their|not|no|yes|so|all|any|some|one|two|three|if|then|than|but|please|want|need|like|help|get|give|make|take|use|user|customer|people|person|team|agent|assistant|specialist|conversation|talk|ask|answer|question|step|work|through|until|after|before|each|new|good|more|most|here|there|out|up|into|over|way|thing|something|everything|know|tell|say)$`)

// stems gives the words of a text that say something, without the endings of their forms.
func stems(text string) map[string]bool {
	found := map[string]bool{}
	for word := range strings.FieldsSeq(words(text)) {
		if plainWords.MatchString(word) {
			continue
		}
		for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
			if rest, cut := strings.CutSuffix(word, ending); cut && len(rest) > 2 {
				word = rest
				break
			}
		}
		found[word] = !plainWords.MatchString(word)
	}
	return found
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// lowerFirst leaves acronyms alone.
func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[size:])
	if size == 0 || unicode.IsUpper(next) {
		return s
	}
	return string(unicode.ToLower(r)) + s[size:]
}

// clip cuts text to at most n bytes between runes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
