package world

import (
	"fmt"
	"strings"

	"github.com/convene-run/convene/internal/lazyregexp"
)

var (
	codeLine = lazyregexp.New(`(?m)^(?:>[ \t]?)?[ \t]*(?:func|def|class|import|package|public|private|const|let|var|return|if|for|try|#include|SELECT|function)\b.*[({;:=]|^(?:>[ \t]?)?` + "```")
	linePart = lazyregexp.New(`(?s)^[^:]*\bline (\d+): (.*)$`)
)

const (
	// check begins what a rule checks.
	check = "Check "
	// found is the weight of what was found in the code itself.
	found = 3
)

// rule is a mistake that shows in one line of code.
type rule struct {
	// check is what is looked for, as a task says it.
	check string
	line  *lazyregexp.Regexp
	grade string
	fits  string
	// says is the finding, change what to do.
	says, change string
}

var rules = []rule{
	{
		check: "Check SQL that is put together from text", grade: "blocker", fits: "security injection",
		line:   lazyregexp.New(`(?i)\b(?:select|insert|update|delete)\b.*(?:["'` + "`" + `]\s*(?:\+|%|\.format|\.\s)|\{\w+\}|\$\{)`),
		says:   "Whoever chooses the value chooses the statement: a quote in it ends the text and begins another command.",
		change: "Pass the value as a parameter of the query and keep the statement constant.",
	},
	{
		check: "Check secrets in the source", grade: "blocker", fits: "security secrets",
		line:   lazyregexp.New(`(?i)\b(?:password|passwd|secret|api_?key|token)\w*\s*[:=]+\s*["'][^"']{4,}`),
		says:   "The secret is in every copy and in the history, and whoever reads the code has it.",
		change: "Read it from the environment or a secret store, and replace it, because it is known already.",
	},
	{
		check: "Check code that is run from data", grade: "blocker", fits: "security injection authorization",
		line:   lazyregexp.New(`\beval\(|\bexec\(|os\.system\(|shell\s*=\s*True|child_process`),
		says:   "Data that reaches this line is run as code, with all the rights of the program.",
		change: "Parse the data, or call the one program that is meant with a list of arguments and no shell.",
	},
	{
		check: "Check errors that are dropped", grade: "major", fits: "correctness logic error handling",
		line:   lazyregexp.New(`\b_\s*:?=\s*\w+[\w.]*\(|,\s*_\s*:?=\s*[\w.]+\(|except\s*:|except Exception:\s*pass|catch\s*\([^)]*\)\s*\{\s*\}`),
		says:   "When the call fails, the next line goes on with a zero value and the cause is lost.",
		change: "Return the error with what was being done, or log it and say why going on is right.",
	},
	{
		check: "Check a bound that is one too far", grade: "major", fits: "correctness edge cases logic",
		line:   lazyregexp.New(`<=\s*(?:len\(|\w+\.(?:length|size|len\b|Count))`),
		says:   "The last round reads behind the end: with an empty list it does so at once.",
		change: "Compare with < and add a test with no element and with one.",
	},
	{
		check: "Check calls that may wait for ever", grade: "major", fits: "upkeep performance unbounded resources",
		line:   lazyregexp.New(`\bhttp\.(?:Get|Post)\(|requests\.(?:get|post)\(|(?:=|return|await)\s*fetch\(|urlopen\(`),
		says:   "There is no timeout: a peer that accepts and says nothing holds this caller, and all behind it.",
		change: "Give the call a deadline, and say what the caller does when it is over.",
	},
	{
		check: "Check a hash that is broken", grade: "major", fits: "security weak cryptography",
		line:   lazyregexp.New(`(?i)\b(?:md5|sha1)\b`),
		says:   "Two texts with the same sum can be made at will, so it proves nothing about who wrote the text.",
		change: "Use SHA-256 for sums, and a password hash such as Argon2 for passwords.",
	},
	{
		check: "Check a program that ends itself", grade: "minor", fits: "correctness error handling contracts",
		line:   lazyregexp.New(`\bpanic\(|\.unwrap\(\)|sys\.exit\(|process\.exit\(|log\.Fatal`),
		says:   "One bad value ends the process for everybody who uses it.",
		change: "Return an error and let the outermost function decide.",
	},
	{
		check: "Check waiting by the clock", grade: "minor", fits: "upkeep tests",
		line:   lazyregexp.New(`\btime\.Sleep\(|\bsleep\(|setTimeout\(`),
		says:   "On a slow machine it is too short, and everywhere else it is time lost.",
		change: "Wait for the event itself, with a deadline.",
	},
	{
		check: "Check what was left for later", grade: "minor", fits: "clarity comments documentation upkeep",
		line:   lazyregexp.New(`\b(?:TODO|FIXME|XXX|HACK)\b`),
		says:   "Nobody will find it here: the next reader cannot tell whether it still holds.",
		change: "Do it, or write an issue and name it.",
	},
}

// remarks hold for any code; they fill a review of code in which little was found.
var remarks = []Angle{
	{Title: "Check how it is tested", fits: "correctness tests missing upkeep", section: "questions findings minor", text: plain("**Tests.** The material has no test beside it. Write one for the empty input, one for the usual, and one for the failure that hurts most; each should be seen failing once.")},
	{Title: "Check the names and the order", fits: "clarity names structure readability", section: "findings minor", text: plain("**Names.** Say what a thing is for rather than what it is made of, and put the function that is called first at the top: a reader should need one pass.")},
	{Title: "Check where input comes from", fits: "security injection authorization secrets", section: "questions", text: plain("**Input.** Who calls this, and with what? Until that is known, each value counts as hostile: bound its length, check its form, and refuse what does not fit with a message that helps.")},
	{Title: "Note what should stay", fits: "clarity upkeep design", section: "strengths", text: plain("**Keep.** It is short, it does one thing, and it can be read from top to bottom. Changes should leave it so: mend in place before anything is moved.")},
	{Title: "Weigh whether it can ship", Weight: found, fits: "correctness logic", section: "verdict overview", text: plain("**Verdict.** Ship after changes: the findings with a grade first, each with a test that was red. None of them needs another design.")},
	{Title: "Check what is dear to change", fits: "upkeep coupling cost later change", section: "findings minor", text: plain("**Coupling.** Look for the rule that is written twice and the parameter that is passed through three layers: these are the two changes that will hurt within a year.")},
}

func plain(text string) func(topic, Days) string {
	return func(topic, Days) string { return text }
}

// review gives what there is to say about the code of a request: a finding for each rule
// that a line of it breaks, and what holds for any code.
func review(request string) *Subject {
	if !codeLine.MatchString(request) {
		return nil
	}
	s := &Subject{Note: "The simulated model looks for ten mistakes that show in a line of code, and for nothing else."}
	for _, r := range rules {
		for i, line := range strings.Split(code(request), "\n") {
			if r.line.MatchString(line) {
				s.Angles = append(s.Angles, Angle{
					Title:  fmt.Sprintf("%s, %s, line %d: `%s`", r.check, r.grade, i+1, shorten(strings.ReplaceAll(strings.TrimSpace(line), "`", "'"))),
					Weight: found, fits: r.fits, section: "findings " + r.grade, text: r.text,
				})
				break
			}
		}
	}
	s.Angles = append(s.Angles, remarks...)
	return s
}

func (r rule) text(t topic, _ Days) string {
	place := t.task
	if m := linePart.FindStringSubmatch(t.task); m != nil {
		place = fmt.Sprintf("line %s, %s", m[1], strings.TrimSpace(codeSection.ReplaceAllString(m[2], "")))
	}
	return fmt.Sprintf("**%s** (%s), %s. %s\n\n- **Change:** %s\n- **Show it:** a test that is red before the change and green after.",
		strings.ToUpper(r.check[len(check):len(check)+1])+r.check[len(check)+1:], r.grade, place, r.says, r.change)
}

var codeSection = lazyregexp.New(`\s*\([\w -]+\)\s*$`)

// code gives the part of a request that is code: what a file quotes, else all of it.
func code(request string) string {
	var lines []string
	for line := range strings.SplitSeq(request, "\n") {
		if quoted, found := strings.CutPrefix(line, ">"); found {
			lines = append(lines, strings.TrimPrefix(quoted, " "))
		}
	}
	if len(lines) == 0 {
		return request
	}
	return strings.Join(lines, "\n")
}

func shorten(line string) string {
	const longest = 120 // characters
	if runes := []rune(line); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return line
}
