package sanitize

import "strings"

// ranges are the first digits of the cards of each network, and the lengths of their numbers:
// ISO/IEC 7812 numbers as the networks publish them.
var ranges = []struct {
	from, to string // of the same length
	lengths  string
}{
	{"4", "4", "16 19"},             // Visa
	{"51", "55", "16"},              // Mastercard
	{"2221", "2720", "16"},          //
	{"34", "34", "15"},              // American Express
	{"37", "37", "15"},              //
	{"300", "305", "14 16"},         // Diners Club
	{"3095", "3095", "14 16"},       //
	{"36", "36", "14"},              //
	{"38", "39", "14 16"},           //
	{"6011", "6011", "16 17 18 19"}, // Discover
	{"644", "659", "16 17 18 19"},   //
	{"3528", "3589", "16 17 18 19"}, // JCB
	{"62", "62", "16 17 18 19"},     // UnionPay
	{"2200", "2204", "16 17 18 19"}, // Mir
	{"5018", "5018", "16 17 18 19"}, // Maestro
	{"5020", "5020", "16 17 18 19"}, //
	{"5038", "5038", "16 17 18 19"}, //
	{"5893", "5893", "16 17 18 19"}, //
	{"6304", "6304", "16 17 18 19"}, //
	{"6759", "6763", "16 17 18 19"}, //
	{"508", "508", "16"},            // RuPay
	{"81", "82", "16"},              //
	{"9792", "9792", "16"},          // Troy
}

// maxCard and minCard bound the digits of a card's number.
const minCard, maxCard = 14, 19

// findCards finds the cards of a run: from the beginning of a group to the end of one. A date
// or a check value may stand behind it.
func findCards(text string, run []group, found func(start, end int, kind Kind)) {
	for i := 0; i < len(run); i++ {
		if n := len(run[i].digits); n != 4 && n != 6 && n != 8 && n < minCard {
			continue
		}
		n, end := 0, -1
		for j := i; j < len(run) && n <= maxCard; j++ {
			if j > i && run[j].before != run[min(i+1, j)].before {
				break // it separates otherwise
			}
			n += len(run[j].digits)
			if n >= minCard && n <= maxCard && cardGroups(run[i:j+1]) && isCard(joined(run[i:j+1])) && free(text, run, i, j) {
				end = j
			}
		}
		if end >= 0 {
			found(run[i].start, run[end].end, Card)
			i = end
		}
	}
}

// cardGroups says whether the digits are grouped as on a card, or not at all.
func cardGroups(groups []group) bool {
	if len(groups) == 1 {
		return true
	}
	sep := groups[1].before
	if sep != "-" && sep != "." && !(spaces(sep) && len([]rune(sep)) == 1) {
		return false
	}
	switch lengths(groups) {
	case "4-4-4-4", "4-4-4-4-1", "4-4-4-4-2", "4-4-4-4-3", "4-6-5", "4-6-4", "8-8":
		return true
	}
	return lengths(groups) == "" && len(groups) == 2 && len(groups[0].digits) == 6 && len(groups[1].digits) == 13
}

// free says whether the groups from i to j stand by themselves: they are no part of a word, of
// a decimal number or of a longer chain of the same kind.
func free(text string, run []group, i, j int) bool {
	if i == 0 && (wordBefore(text, run[0].start) || touches(text, run[0].start-1, -1)) || i > 0 && !strings.HasSuffix(run[i].before, " ") && !spaces(run[i].before) {
		return false
	}
	if j == len(run)-1 {
		return !wordAfter(text, run[j].end) && !touches(text, run[j].end, 1)
	}
	return spaces(run[j+1].before) || run[j+1].before != run[j].before && !strings.ContainsAny(run[j+1].before, ".-")
}

// touches says whether a sign joins the number to more of a word or of digits.
func touches(text string, sign, direction int) bool {
	b := byteAt(text, sign)
	return (b == '.' || b == '-' || b == ',' && direction < 0) && isAlnum(byteAt(text, sign+direction))
}

// isCard checks the network, the length and the check digit.
func isCard(digits string) bool {
	for _, r := range ranges {
		if len(digits) < minCard {
			return false
		}
		head := digits[:len(r.from)]
		if head < r.from || head > r.to {
			continue
		}
		for _, length := range strings.Fields(r.lengths) {
			if int(length[0]-'0')*10+int(length[1]-'0') == len(digits) {
				return luhn(digits) && strings.Trim(digits, digits[:1]) != ""
			}
		}
	}
	return false
}

// luhn checks the digit at the end: ISO/IEC 7812-1, annex B.
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
