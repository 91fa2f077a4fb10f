package sanitize

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/convene-run/convene/internal/lazyregexp"
)

// maxSecret bounds a password or key that only the words before it give away.
const maxSecret = 256

// passwords and keys are the words behind which one stands, in the languages of the corpus, each
// a [phrase].
const (
	passwords = "password|passwd|passphrase|passcode|passwort|pass|pwd|pw|pin|pin code|kennwort|mot de passe|contraseña|contrasena|clave|senha|palavra passe|parola|parola d'ordine|wachtwoord|hasło|haslo|" +
		"пароль|пароля|паролем|şifre|şifresi|şifrem|lösenord|lösenordet|adgangskode|passord|passordet|salasana|heslo|κωδικός|密码|密碼|口令|パスワード|暗証番号|비밀번호|كلمة المرور|كلمة السر|पासवर्ड|סיסמה|mật khẩu|kata sandi"
	keys = "api key|access key|secret key|private key|signing key|encryption key|account key|auth key|shared key|master key|service key|secret|token|credential|credentials|" +
		"api schlüssel|clé api|clave de api|chave de api|ключ api|密钥|金鑰|トークン|токен"
)

// naming are the words.
var naming = sync.OnceValue(func() *vocabulary {
	v := new(vocabulary)
	v.add(Password, passwords)
	v.add(Key, keys)
	return v
})

// Named says of the name of a member of a JSON object, or of a variable, that its value is a
// secret, and of which kind: "" where it says no such thing.
func Named(member string) (kind Kind) {
	naming().each(member, func(p phrase, start, end int) int {
		if end == len(member) && (len(p.words) > len("senha") || !isLower(byteAt(member, start-1))) {
			kind = p.kind
		}
		return end
	})
	headers().each(member, func(p phrase, start, end int) int {
		if start == 0 && end == len(member) && kind == "" {
			kind = Header
		}
		return end
	})
	return kind
}

// sign is what may stand between the word and the value: a sign, a verb, or nothing but a
// space.
var sign = lazyregexp.New(`^(\\?["'\x60”]?(?:\]|\))?\s{0,3}(?::=|=>|==?|:|：|＝)\s{0,3}|>|["'”]?\s{1,3}(?i:is|ist|lautet|est|es|é|è|jest|are|was|to|на|är|er|on|wordt|olarak|adalah)\s{1,3}(?i:now |set to |jetzt |ahora |maintenant )?|\s?(?:は|是|为|為|는|은)\s?|\s{1,2})`)

// findNamed finds passwords and keys by the words before them.
func findNamed(text string, found func(start, end int, kind Kind)) {
	naming().each(text, func(p phrase, start, end int) int {
		s := sign.FindString(text[end:min(len(text), end+contextBytes)])
		if s == "" {
			return end
		}
		n := name{text: text, word: text[start:end], at: start, sign: s, value: end + len(s), kind: p.kind}
		if from, to := n.find(); to > from {
			found(from, to, p.kind)
			return to
		}
		return end
	})
}

// name is a word that names a secret, and where its value may begin.
type name struct {
	text, word, sign string
	at, value        int
	kind             Kind
}

// find gives where the value stands, an empty range for none.
func (n name) find() (start, end int) {
	flag := false
	switch sign := strings.TrimSpace(n.sign); {
	case sign == "": // a word follows: only a flag's, or one in quotation marks, is a value
		dashes := strings.LastIndexFunc(n.text[:n.at], func(r rune) bool { return r >= utf8.RuneSelf || !isLetter(byte(r)) && r != '-' })
		if flag = strings.HasPrefix(n.text[dashes+1:], "--"); !flag && strings.IndexByte("\"'`", byteAt(n.text, n.value)) < 0 {
			return 0, 0
		}
	case len(n.word) <= len("senha") && isLower(byteAt(n.text, n.at-1)): // bypass, enclave
		return 0, 0
	case sign == ">" && byteAt(n.text, n.at-1) != '<' && !isAlnum(byteAt(n.text, n.at-1)):
		return 0, 0
	}
	start, end, quoted := valueAt(n.text, n.value)
	value := n.text[start:end]
	if len(value) < minRemembered-1 || len(value) > maxSecret || stands(value) {
		return 0, 0
	}
	sign := strings.ContainsAny(n.sign, "=:>：＝") || flag
	switch class := classOf(value); {
	case n.kind == Password && strings.HasPrefix(strings.ToLower(n.word), "pin"):
		if class != numeric || len(value) > 8 || wordBefore(n.text, n.at) {
			return 0, 0
		}
	case class == strong, class == numeric && n.kind == Password && sign, class == numeric && len(value) >= 10 && sign:
	case quoted && sign, quoted && n.kind == Password && strings.TrimSpace(n.sign) != "":
	case class == plain && sign && ends(n.text, end):
	case class == numeric && n.kind == Password && ends(n.text, end):
	default:
		return 0, 0
	}
	return start, end
}

// valueAt gives where the value is that begins at i, without the quotation marks around it.
func valueAt(text string, i int) (start, end int, quoted bool) {
	for _, marks := range [][2]string{{`\"`, `\"`}, {`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}} {
		if !strings.HasPrefix(text[i:], marks[0]) {
			continue
		}
		start = i + len(marks[0])
		line := text[start:min(len(text), start+maxSecret+len(marks[1]))]
		if j := strings.IndexByte(line, '\n'); j >= 0 {
			line = line[:j]
		}
		if j := strings.Index(line, marks[1]); j > 0 {
			inner := strings.TrimLeft(line[:j], " \u00a0")
			return start + j - len(inner), start + len(strings.TrimRight(line[:j], " \u00a0")), inner != ""
		}
		i = start
		break
	}
	end = i
	for end < len(text) && end-i <= maxSecret {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r >= utf8.RuneSelf && end > i && text[end-1] < utf8.RuneSelf && unicode.IsLetter(r) && !alphabetic(r) { // 「hunter2です」
			break
		}
		if r <= ' ' || strings.ContainsRune("\"'`<>“”«»「」。，、；\u00a0\u3000", r) {
			break
		}
		if (r == ';' || r == '&') && nextPair.MatchString(text[end+1:min(len(text), end+1+contextBytes)]) {
			break
		}
		end += size
	}
	return i, i + len(strings.TrimRight(text[i:end], ".,;:)]}?")), false
}

// nextPair is the beginning of another setting in the same line: Password=x;Server=y.
var nextPair = lazyregexp.New(`^\s?[A-Za-z][\w .-]*=`)

// contextBytes bounds how far a rule looks beside a value.
const contextBytes = 48

// class is how much a value looks like a secret.
type class int

const (
	plain   class = iota // a word
	numeric              // digits alone
	strong               // what no word of a sentence looks like
)

var joinedWords = lazyregexp.New(`^[\p{L}]+(?:[-/'’.,][\p{L}]+)*$`)

func classOf(value string) class {
	switch {
	case strings.Trim(value, "0123456789") == "":
		return numeric
	case joinedWords.MatchString(value):
		turns := 0
		for i := 1; i < len(value); i++ {
			if isUpper(value[i]) && isLower(value[i-1]) {
				turns++
			}
		}
		if turns < 2 {
			return plain
		}
	}
	return strong
}

// ends says whether a sentence or an item ends at i: what a word behind a colon is then is no
// beginning of a phrase.
func ends(text string, i int) bool {
	rest := strings.TrimLeft(text[i:min(len(text), i+8)], " ")
	return rest == "" || strings.IndexByte(".,;\n\r\"'`)]}<&|", rest[0]) >= 0
}
