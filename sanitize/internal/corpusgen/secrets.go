package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// key draws a key or token of a known shape. Behind its second byte stands the sign that the
// test leaves out.
func (g *gen) key() string {
	t := g.text
	var key string
	switch g.IntN(24) {
	case 0:
		key = "sk-proj-" + t(48, word) + "T3BlbkFJ" + t(20, alnum)
	case 1:
		key = "sk-" + t(48, alnum)
	case 2:
		key = "sk-ant-api03-" + t(93, word) + "AA"
	case 3:
		key = "AKIA" + t(16, upper+"234567")
	case 4:
		key = "ghp_" + t(36, alnum)
	case 5:
		key = "github_pat_" + t(22, alnum) + "_" + t(59, alnum)
	case 6:
		key = "xoxb-" + t(12, digits) + "-" + t(12, digits) + "-" + t(24, alnum)
	case 7:
		key = "AIza" + t(35, alnum)
	case 8:
		key = g.one("sk_live_", "rk_live_", "sk_test_") + t(24, alnum)
	case 9:
		key = "glpat-" + t(20, alnum)
	case 10:
		key = "npm_" + t(36, alnum)
	case 11:
		key = "hf_" + t(34, alnum)
	case 12:
		key = "SG." + t(22, alnum) + "." + t(43, alnum)
	case 13:
		key = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+g.one("HS256", "RS256", "ES256")+`","typ":"JWT"}`)) + "." +
			base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"`+t(8, digits)+`"}`)) + "." + t(43, alnum)
	case 14:
		key = "ya29." + t(60, word) + "a1"
	case 15:
		key = t(10, "123456789") + ":AA" + t(33, alnum)
	case 16:
		key = "whsec_" + t(32, alnum)
	case 17:
		key = "dop_v1_" + t(64, hex)
	case 18:
		key = "gsk_" + t(52, alnum)
	case 19:
		key = "hvs." + t(24, alnum)
	case 20:
		key = "shpat_" + t(32, hex)
	case 21:
		key = "xapp-1-" + t(11, upper) + "-" + t(13, digits) + "-" + t(64, hex)
	case 22:
		key = "sk-or-v1-" + t(64, hex)
	default:
		key = "GOCSPX-" + t(28, alnum)
	}
	return key[:2] + "¦" + key[2:]
}

func (g *gen) keyLine() string {
	switch g.IntN(7) {
	case 0: // by the words before it
		return g.fill(g.text(2, alnum)+"¦"+g.text(14+g.IntN(26), alnum)+g.digits(2), "api_key=%", `"api_key": "%"`, "API key: %", "my secret is %", "export SERVICE_TOKEN=%", "client_secret: '%'", "--api-key %", "aws_secret_access_key = %",
			"Mein API-Schlüssel: %", "clé API : %", "токен: %", "トークンは%", "密钥：%", "secret_key=\"%\";", "<token>%</token>", "apiKey: \"%\",")
	case 1:
		body := strings.TrimSpace(grouped(g.text(192, alnum+"+/"), "\\n", 64))
		kind := g.one("RSA ", "EC ", "OPENSSH ", "")
		return g.fill("-----BE¦GIN "+kind+"PRIVATE KEY-----\\n"+body+"\\n-----END "+kind+"PRIVATE KEY-----", "%", "key: %", `{"pem":"%"}`)
	case 2:
		return g.fill("Bea¦rer "+g.text(32, alnum)+g.digits(2), "send % with it", "it wants %.", "(%)")
	}
	return g.fill(g.key(), "%", "my key is %", "OPENAI_API_KEY=%", "key: %.", `{"k":"%"}`, "https://example.org/?key=%&x=1", "Use % for now, please", "nimm % dafür", "utilise % ici", "usa %, vale", "используй %", "请用%", "curl -u %: https://example.org", "(%)", "`%`", "export K='%'", "revoke %!")
}

func (g *gen) noKey() string {
	switch g.IntN(12) {
	case 0:
		return g.put(g.one("sk-", "ghp_", "AKIA", "xoxb-", "sk_live_"), "keys begin with %", "set it to %...", "the prefix % is known", "%xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "%your-key-here-please-replace", "%<your key>")
	case 1:
		return g.put(g.one("sk-learn-contrib-metric-learning-docs", "ask-me-anything-about-everything-today", "task-force-on-the-future-of-things", "disk-usage-by-directory-and-owner", "hf_transfer_is_a_library_of_hugging_face", "npm_config_registry_and_others_too", "desk-booking-system-for-the-office"), "see %", "repo %", "%: done")
	case 2:
		return g.put(fmt.Sprint(256<<g.IntN(8)), "max_tokens: %", "tokens=%", "token limit: %", "secret_len=%", "api_key_count: %")
	case 3:
		return g.put(g.one("required", "string", "missing", "your-api-key", "<token>", "${TOKEN}", "$API_KEY", "process.env.TOKEN", "os.environ['KEY']", "null", "********", "{{token}}", "None", "API_TOKEN", "bearer", "expired", "invalid", "vault.read(x)"), "token: %", "api_key = %", `"secret": "%"`, "access_token=%", "secret-key: %")
	case 4:
		return g.put(base64.StdEncoding.EncodeToString([]byte(g.text(30, lower+" "))), "data:text/plain;base64,%", "payload %", `{"body":"%"}`)
	case 5:
		return g.put(g.text(20, alnum), "id %", "cursor=%", "nonce %", "etag \"%\"", "key-%")
	case 6:
		return "-----BEGIN " + g.one("CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "PGP MESSAGE", "SSH SIGNATURE") + "-----\\n" + g.text(64, alnum+"+/") + "\\n"
	case 7:
		return g.put("eyJ"+g.text(30, alnum), "cursor %", "next=%", "%."+g.text(8, lower))
	case 8:
		return g.put(g.one("the bearer of this letter", "Bearer tokens are sent", "bearer bonds from 1984", "a secret garden", "token ring network", "the secret is patience", "tokens are words", "the key is to listen", "API keys: see the settings", "access key to the building at the desk"), "%", "on %", "%.")
	}
	return g.common()
}

var words = []string{"sunflower", "Tiger", "kitten", "Sommer", "azerty", "dragon", "maison", "Winter", "coffee", "noodle", "пароход", "lluvia"}

func (g *gen) password() string {
	switch g.IntN(7) {
	case 0:
		return g.text(10+g.IntN(8), alnum) + g.digits(1) + g.text(1, "!$*-_+")
	case 1:
		return g.one(words...) + g.digits(2+g.IntN(3))
	case 2:
		return g.one(words...) + g.digits(2) + g.one("!", "$", "*", "!!") + "x"
	case 3:
		return g.one("Tr0ub4dor&3", "P@ssw0rd", "hunter2", "Qwerty!23", "c0rrect-h0rse", "L3tM3In", "1qaz2wsx", "zx_"+g.digits(4))
	case 4:
		return strings.Join([]string{g.one(words...), g.one(words...), g.one(words...)}, "-") + g.digits(1)
	case 5:
		return g.digits(5 + g.IntN(4))
	}
	return g.text(4, upper) + g.text(4, lower) + g.digits(4)
}

func (g *gen) passwordLine() string {
	p := g.password()
	if g.IntN(6) == 0 { // a word alone, where it can be nothing else
		return g.fill(g.one(words...), "password: %", "Passwort: %.", "password=%\n", `"password": "%"`, "pwd='%'", "my password is \"%\"")
	}
	if g.IntN(8) == 0 {
		return g.fill(strings.ReplaceAll(p, "/", ""), "postgres://app:%@db.example:5432/x", "https://ann:%@example.org/", "mysql --password %", "<password>%</password>", "amqp://u:%@mq.example", "tool --passphrase=% run")
	}
	return g.fill(p, "password: %", "Password: % (change it)", "password=%", "my password is %", "The wifi password is %.", "passwd = %", "pwd: %;", `{"user":"ann","password":"%"}`, "DB_PASSWORD=%", "export PGPASSWORD='%'", "passphrase: %",
		"Passwort: %", "Mein Passwort ist %", "Kennwort=%", "mot de passe : %", "Mon mot de passe est %", "contraseña: %", "mi contraseña es %", "senha: %", "la password è %", "wachtwoord: %", "hasło: %", "пароль: %", "мой пароль: %", "密码：%", "密码是%",
		"パスワード：%", "パスワードは%です。", "비밀번호: %", "كلمة المرور: %", "पासवर्ड: %", "şifre: %", "lösenord: %", "mật khẩu: %", "dbPassword: \"%\",", "user ann / pass: %", "password => '%',", "IDENTIFIED BY PASSWORD '%'")
}

func (g *gen) noPassword() string {
	switch g.IntN(10) {
	case 0, 1:
		return g.put(g.one("required", "string", "${DB_PASSWORD}", "$PASS", "********", "<password>", "null", "None", "os.environ['DB_PASSWORD']", "process.env.PASS", "{{ password }}", "[REDACTED]", "hidden", "xxxx", "••••••••", "your-password", "true", "getpass()", "config.password"),
			"password: %", "password=%", `"password": "%"`, "DB_PASSWORD=%", "pwd = %")
	case 2:
		return g.put(g.one("must have at least 12 characters", "is required", "is wrong", "was changed yesterday", "is too short", "and user name are needed", "reset: see the mail", "policy: 12 characters or more", "is case sensitive", "are hashed with argon2", "manager: any will do", "expires in 30 days", "should be at least 8 characters", "or passkey"), "The password %", "your password %", "Password %.", "a password %")
	case 3:
		return g.put(g.one("ist erforderlich", "vergessen?", "muss geändert werden", "est obligatoire", "oublié ?", "es obligatoria", "olvidada", "обязателен", "を入力してください", "必须填写", "는 필수입니다"), g.one("Passwort %", "Kennwort %"), "mot de passe %", "contraseña %", "пароль %", "パスワード%", "密码%", "비밀번호%")
	case 4:
		return g.put(g.digits(2), "password_min_length: %", "password_length=%", "passwords: %", "passes: %", "pass % of 99", "password attempts: %", "pwd_max = %", "%% passed")
	case 5:
		return g.put(g.text(32, hex), "password_hash: %", "passwordHash=%", "password_md5: %")
	case 6:
		return g.put(g.one("/home/ann/src", "/srv/data", "~/work"), "pwd: %", "PWD=%", "$ pwd\\n%")
	case 7:
		return g.put(g.one("bypass: enabled", "compass: north", "passport: X1234567", "passage: 12b", "passenger: Ann Lee 12A", "trespass: 2 cases", "overpass: A12", "boarding pass: gate B12", "encompass: 42km", "passive: ok1", "bypass=v1.2b"), "%", "the %", "%.")
	}
	return g.common()
}
