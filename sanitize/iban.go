package sanitize

import (
	"strings"
	"sync"
)

// ibanLengths are the lengths by country of the SWIFT registry of IBANs, release 99.
var ibanLengths = sync.OnceValue(func() map[string]int {
	const table = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 " +
		"GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 " +
		"MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
	lengths := map[string]int{}
	for _, entry := range strings.Fields(table) {
		lengths[entry[:2]] = int(entry[2]-'0')*10 + int(entry[3]-'0')
	}
	return lengths
})

// findIBANs finds account numbers, in one piece or grouped.
func findIBANs(text string, found func(start, end int, kind Kind)) {
	for i := 0; i+14 < len(text); i++ {
		if !isLetter(text[i]) || !isLetter(text[i+1]) || !isDigit(text[i+2]) || !isDigit(text[i+3]) || wordBefore(text, i) {
			continue
		}
		length := ibanLengths()[strings.ToUpper(text[i:i+2])]
		if length == 0 {
			continue
		}
		if end := ibanEnd(text, i, length); end > 0 {
			found(i, end, IBAN)
			i = end
		}
	}
}

// ibanEnd gives where the account number ends that begins at start, 0 where it is none.
func ibanEnd(text string, start, length int) int {
	digits := make([]byte, 0, length)
	i := start
	for len(digits) < length {
		switch b := byteAt(text, i); {
		case isAlnum(b):
			if isLower(b) {
				b -= 'a' - 'A'
			}
			digits = append(digits, b)
		case (b == ' ' || b == '-' || b == '.') && len(digits)%4 == 0 && isAlnum(byteAt(text, i+1)):
		case strings.HasPrefix(text[min(i, len(text)):], "\u00a0") && len(digits)%4 == 0:
			i++
		default:
			return 0
		}
		i++
	}
	if wordAfter(text, i) || !mod97(digits) {
		return 0
	}
	return i
}

// mod97 checks the two digits behind the country: ISO 7064, MOD 97-10.
func mod97(iban []byte) bool {
	rest := 0
	for i := range iban {
		b := iban[(i+4)%len(iban)]
		if isDigit(b) {
			rest = (rest*10 + int(b-'0')) % 97
		} else {
			rest = (rest*100 + int(b-'A') + 10) % 97
		}
	}
	return rest == 1
}
