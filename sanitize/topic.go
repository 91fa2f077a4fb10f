package sanitize

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// topic is what the words before a number say of it.
type topic int

const (
	unknown topic = iota
	calls         // a telephone's
	counts        // an order's, an amount, whatever is none of a telephone
)

const (
	// maxTopicWords is how far back words count: those of one phrase.
	maxTopicWords = 5
)

// topics are the words that decide, in the languages of the corpus, in lower case.
var topics = sync.OnceValue(func() map[string]topic {
	const (
		calling = "phone phones telephone tel tele telefon telefone telefono teléfono telefoon telefonnummer telefonnumre téléphone téléfone tél tlf mobile mobil mobiel móvil movil celular cellulare " +
			"cell cellphone handy handynummer portable fax whatsapp sms rufnummer durchwahl hotline puhelin puh puhelinnumero mobilnummer telefonu komórka тел телефон телефона моб мобильный"
		counting = "order orders invoice ref reference ticket case sku isbn issn ean gtin doi id ids article item part serial tracking customer account acct version build commit " +
			"bestellung bestellnummer rechnung rechnungsnummer kundennummer artikelnummer auftrag auftragsnummer commande facture pedido factura ordine fattura imei ssn vat tax " +
			"card ip port pid rev release range total sum eur usd gbp chf price amount zip plz batch lot code sort routing parcel shipment meter seed hash page pages row rows line lines"
	)
	m := map[string]topic{}
	for _, word := range strings.Fields(calling) {
		m[word] = calls
	}
	for _, word := range strings.Fields(counting) {
		m[word] = counts
	}
	return m
})

// unspaced are words of scripts without spaces, or whose words take endings and prefixes.
var unspaced = []string{"電話", "电话", "電話番号", "手机", "携帯", "전화", "휴대폰", "هاتف", "جوال", "फ़ोन", "फोन", "טלפון", "โทร"}

// callVerbs call somebody only with one of callObjects behind them.
var (
	callVerbs   = map[string]bool{"call": true, "ring": true, "reach": true, "dial": true, "text": true, "phone": true}
	callObjects = map[string]bool{"me": true, "us": true, "him": true, "her": true, "them": true, "at": true, "on": true, "back": true, "under": true}
)

// topicBefore looks at the words between start and the number or line before it. The one
// nearest to start that decides does.
func topicBefore(text string, start int) topic {
	words := text[max(0, start-contextBytes):start]
	if i := strings.LastIndexFunc(words, func(r rune) bool { return r == '\n' || r >= '0' && r <= '9' }); i >= 0 {
		words = words[i+1:]
	}
	if len(words) < 3 {
		return unknown
	}
	for _, word := range unspaced {
		if strings.Contains(words, word) {
			return calls
		}
	}
	next := ""
	for range maxTopicWords {
		word := lastWord(&words)
		if word == "" {
			break
		}
		if t := topics()[word]; t != unknown {
			return t
		}
		if callVerbs[word] && callObjects[next] {
			return calls
		}
		next = word
	}
	return unknown
}

// lastWord takes the last word off a text, in lower case; "" where there is none.
func lastWord(text *string) string {
	trimmed := strings.TrimRightFunc(*text, func(r rune) bool { return !unicode.IsLetter(r) })
	at := strings.LastIndexFunc(trimmed, func(r rune) bool { return !unicode.IsLetter(r) && r != utf8.RuneError })
	if at >= 0 {
		_, size := utf8.DecodeRuneInString(trimmed[at:])
		at += size
	}
	word := strings.ToLower(trimmed[max(0, at):])
	*text = trimmed[:max(0, at)]
	return word
}
