package main

import (
	"fmt"
	"math/big"
	"strings"
)

// phone draws a number that is set aside for dramas or documentation, as people write it, and
// says whether only words make it one.
func (g *gen) phone() (number string, bare bool) {
	d := g.digits
	switch g.IntN(20) {
	case 0:
		return "+1 212 555 01" + d(2), false
	case 1:
		return "(415) 555-01" + d(2), false
	case 2:
		return "303-555-01" + d(2), false
	case 3:
		return "+1.206.555.01" + d(2), false
	case 4:
		return "+44 20 7946 0" + d(3), false
	case 5:
		return "07700 900" + d(3), false
	case 6:
		return "+44 (0)1632 960" + d(3), false
	case 7:
		return "+49 30 23125 " + d(3), false
	case 8:
		return "030/23125" + d(3), false
	case 9:
		return "0171 39200" + d(2), false
	case 10:
		return "06 39 98 " + d(2) + " " + d(2), false
	case 11:
		return "+33 1 99 00 " + d(2) + " " + d(2), false
	case 12:
		return "+61 491 570 " + d(3), false
	case 13:
		return "0046 8 465 004 " + d(2), false
	case 14:
		return "090-0000-" + d(4), false
	case 15:
		return "138" + "0000" + d(4), false
	case 16:
		return "+91 98765 0" + d(4), false
	case 17:
		return "+55 (11) 95550-0" + d(3), false
	case 18:
		return "+" + g.one("420", "351", "421", "380") + "555000" + d(3), false
	}
	return g.one("555-01"+d(2), "612 555 "+d(3), "23125"+d(3), "20 79 46 "+d(2)), true
}

func (g *gen) phoneLine() string {
	number, bare := g.phone()
	called := []string{"Phone: %", "Tel. %", "my phone number is %", "call me at %", "Fax %", "WhatsApp: %", "mobile % (evenings)", "Telefon: %", "Handy %", "Téléphone : %", "mi móvil es %",
		"telefono %", "Telefone: %", "Телефон: %", "電話：%", "手机%", "전화 %", "هاتف %", "फ़ोन: %", "tlf. %", `{"phone": "%"}`, "tel:%"}
	if bare {
		return g.fill(number, called...)
	}
	return g.fill(number, append(called, "% is mine", "Reach me under % after six.", "(%)", "%", "Ann Lee, %, Berlin", "You will find me at %.", "contact: %;", "%\nAnn")...)
}

func (g *gen) noPhone() string {
	d := g.digits
	switch g.IntN(18) {
	case 0:
		return g.put(d(10), "order %", "customer no. %", "Rechnung %", "tracking: %", "id=%")
	case 1:
		return g.put("0"+d(9), "order number %", "Artikelnummer %", "serial %", "lot %")
	case 2:
		return g.put(fmt.Sprintf("%s-%s-%s", d(3), d(2), d(4)), "SSN format %", "case %", "part %")
	case 3:
		return g.put("+"+d(2)+"."+d(6), "lat %", "offset %", "delta %")
	case 4:
		return g.put(fmt.Sprintf("+%d +%d -%d", g.IntN(99), g.IntN(9999), g.IntN(99999)), "diff %", "%")
	case 5:
		return g.put(d(5)+"-"+d(4), "ZIP %", "zip code %", "at %")
	case 6:
		return g.put("1Z"+g.text(6, digits+upper)+d(10), "tracking %", "UPS %")
	case 7:
		return g.put(grouped(d(16), " ", 4), "card ending in %", "account %")
	case 8:
		return g.put(fmt.Sprintf("%02d:%02d:%02d", g.IntN(24), g.IntN(60), g.IntN(60)), "at %", "took %", "[%] started")
	case 9:
		return g.put(fmt.Sprintf("%d-%d", 1900+g.IntN(120), 1900+g.IntN(120)), "in %", "(%)", "seasons %")
	case 10:
		return g.put(d(3)+"."+d(3)+"."+d(3), "€ %", "% EUR", "Summe %")
	case 11:
		return g.put(fmt.Sprintf("pp. %d-%d, %d(%d)", g.IntN(900), g.IntN(900), g.IntN(90), g.IntN(9)), "see %", "% (2019)")
	case 12:
		return g.put(fmt.Sprintf("@@ -%d,%d +%d,%d @@", g.IntN(900), g.IntN(90), g.IntN(900), g.IntN(90)), "%", "hunk %")
	case 13:
		return g.put(fmt.Sprintf("%dx%d", 600+g.IntN(3000), 600+g.IntN(3000)), "% pixels", "size %", "%.png")
	}
	return g.common()
}

// card draws a number in a range that is used for tests, with its check digit.
func (g *gen) card() string {
	prefix, length := "", 16
	switch g.IntN(8) {
	case 0:
		prefix = "400000"
	case 1:
		prefix = "424242"
	case 2:
		prefix = "555555"
	case 3:
		prefix = "222300"
	case 4:
		prefix, length = "378282", 15
	case 5:
		prefix, length = "305693", 14
	case 6:
		prefix = "601100"
	case 7:
		prefix = "353011"
	}
	body := prefix + "00" + g.digits(length-9)
	return body + luhn(body)
}

// luhn is the check digit of the body.
func luhn(body string) string {
	sum := 0
	for i := range len(body) {
		d := int(body[len(body)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return fmt.Sprint((10 - sum%10) % 10)
}

// written groups a card's number as people do.
func (g *gen) written(number string) string {
	sep := g.one("", " ", "-", " ")
	switch len(number) {
	case 15:
		return grouped(number, sep, 4, 6, 5)
	case 14:
		return grouped(number, sep, 4, 6, 4)
	}
	return grouped(number, sep, 4)
}

func (g *gen) cardLine() string {
	return g.fill(g.written(g.card()), "card %", "My card is %, valid until 12/27", "% 12/27 123", "Visa: %.", `{"number":"%","cvc":"123"}`, "pay with %", "Karte: %", "Kreditkarte % bitte",
		"carte bancaire %", "tarjeta: %", "carta %", "cartão %", "карта %", "カード番号%です", "卡号：%", "number=%&cvc=123", "(%)", "%", "charge % and % too", "my old one, %, is gone")
}

func (g *gen) noCard() string {
	switch g.IntN(12) {
	case 0, 1, 2: // the check digit is wrong
		number := g.card()
		last := (int(number[len(number)-1]-'0') + 1 + g.IntN(9)) % 10
		return g.put(g.written(number[:len(number)-1]+fmt.Sprint(last)), "card %", "Visa %", "order %", "%")
	case 3: // no network has it
		body := g.one("10", "19", "71", "85", "90", "00") + g.digits(13)
		return g.put(g.written(body+luhn(body)), "number %", "account %", "%")
	case 4: // longer or shorter than any
		return g.put(g.one("4", "5", "6")+g.digits(g.one2(11, 20)), "order %", "id %", "tracking %")
	case 5:
		return g.put("4"+g.digits(15), "0.%", "x%", "%px", "id_%", "1.%", "a%b")
	case 6:
		return g.put(g.digits(13), "EAN %", "GTIN: %")
	case 7:
		return g.put("35"+g.digits(13), "IMEI %", "imei: %")
	case 8:
		return g.put(grouped("4"+g.digits(23), "-", 4), "key %", "licence %")
	case 9:
		return g.put("17"+g.digits(14), "at % µs", "ts=%", "17%")
	}
	return g.common()
}

func (g *gen) one2(a, b int) int {
	if g.IntN(2) == 0 {
		return a
	}
	return b
}

// countries are accounts by country: the length behind the check digits, and what the first of
// it are.
var countries = []struct {
	code, bank string
	length     int
}{
	{"DE", "50010517", 18}, {"FR", "2004101005", 23}, {"GB", "NWBK601613", 18}, {"ES", "21000418", 20}, {"IT", "X0542811101", 23}, {"NL", "ABNA", 14}, {"BE", "539", 12},
	{"AT", "19043", 16}, {"CH", "00762", 17}, {"PL", "109010140000", 24}, {"PT", "00020123", 21}, {"SE", "500", 20}, {"NO", "8601", 11}, {"DK", "0040", 14}, {"FI", "123456", 14},
	{"IE", "AIBK931152", 18}, {"LU", "001", 16}, {"CZ", "08000000", 20}, {"GR", "0110125", 23}, {"TR", "00061", 22}, {"SA", "03", 20}, {"BR", "00360305", 25}, {"MT", "MALT01100", 27}, {"UA", "322313", 25},
}

func (g *gen) iban() string {
	c := countries[g.IntN(len(countries))]
	body := c.bank + g.digits(c.length-len(c.bank))
	return c.code + checkDigits(c.code, body) + body
}

// checkDigits are those of ISO 7064 for a country and an account.
func checkDigits(country, body string) string {
	var b strings.Builder
	for _, r := range body + country + "00" {
		if r >= 'A' {
			fmt.Fprint(&b, int(r-'A')+10)
			continue
		}
		b.WriteRune(r)
	}
	n, _ := new(big.Int).SetString(b.String(), 10)
	return fmt.Sprintf("%02d", 98-int(new(big.Int).Mod(n, big.NewInt(97)).Int64()))
}

func (g *gen) ibanLine() string {
	number := g.iban()
	switch g.IntN(5) {
	case 0, 1:
		number = grouped(number, " ", 4)
	case 2:
		number = strings.ToLower(number)
	case 3:
		number = grouped(number, "-", 4)
	}
	return g.fill(number, "IBAN %", "IBAN: %.", "pay to % by Friday", "Bitte auf % überweisen", "mon IBAN est %, merci", "cuenta %", "conto: %;", "счёт %", "账户：%", "口座は%です", `{"iban":"%"}`, "iban=%&bic=X", "(%)", "%", "%, BIC TESTDEXX", "rekening % graag")
}

func (g *gen) noIBAN() string {
	number := g.iban()
	switch g.IntN(9) {
	case 0, 1, 2: // the check digits are wrong
		wrong := fmt.Sprintf("%02d", (number2(number[2:4])+1+g.IntN(90))%97+2)
		if wrong == number[2:4] {
			wrong = "99"
		}
		return g.put(grouped(number[:2]+wrong+number[4:], g.one("", " "), 4), "IBAN %", "%", "account %")
	case 3: // no such country
		return g.put("XX"+number[2:], "IBAN %", "code %")
	case 4: // too long, too short
		return g.put(g.one(number+g.digits(1+g.IntN(3)), number[:len(number)-1-g.IntN(3)]), "IBAN %", "%", "ref %")
	case 5:
		return g.put(g.text(2, upper)+g.digits(2)+g.text(16, upper+digits), "licence %", "voucher %", "SKU %")
	case 6:
		return g.put("x"+number, "id %", "%")
	}
	return g.common()
}

func number2(text string) int { return int(text[0]-'0')*10 + int(text[1]-'0') }
