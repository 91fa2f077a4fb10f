package main

import (
	"fmt"
	"strings"
)

var people = []string{"ann", "Bob", "carla.neri", "d.okafor", "emil_svensson", "Fatima-Z", "guo.li", "h2o", "ines+travel", "o'hara", "jörg", "k%relay", "support", "no-reply", "x", "maria.da.silva", "1234567", "иван", "müller.schmidt"}

var domains = []string{"example.org", "example.com", "example.net", "mail.example.org", "a.b.c.example.com", "EXAMPLE.COM", "bücher.example", "xn--bcher-kva.example", "host-1.example.net", "corp.example", "intranet.test", "пример.test", "example.co.uk.test"}

func (g *gen) email() string { return g.one(people...) + "@" + g.one(domains...) }

func (g *gen) emailLine() string {
	if g.IntN(8) == 0 { // two in one line
		return g.fill(g.email(), "From: Ann <%>") + g.fill(g.email(), ", To: <%>;", " and %", ";cc=%")
	}
	return g.fill(g.email(), "Write to %, please.", "My address is %", "mailto:%?subject=Hi", "<%>", "(%)", `{"email":"%"}`, "email=%&name=Ann", "%", "Contact: %;",
		"Schreib an % oder ruf an.", "Meine Adresse: %.", "Écrivez à % s'il vous plaît", "Mi correo es %, gracias", "La mia email: %!", "Envie para % hoje", "Пишите на % до вечера",
		"邮箱是%，谢谢", "メールは%までお願いします", "البريد %", "ईमेल: %", "[%](https://example.org)", "> % wrote:", "\"Ann Lee\" <%>", "user %: login failed", "%, second", "reply-to:%\tx", "a/%/b", "'%'")
}

func (g *gen) noEmail() string {
	name := g.one("ann", "deploy", "root", "git", "core", "lodash", "user1", "build")
	switch g.IntN(14) {
	case 0:
		return g.put(fmt.Sprintf("%s@%d.%d.%d", name, g.IntN(30), g.IntN(30), g.IntN(30)), "npm i %", "pin % exactly", "%: deprecated")
	case 1:
		return g.put(fmt.Sprintf("@%s/%s@%d.%d.0-beta.1", name, g.text(5, lower), g.IntN(9), g.IntN(9)), "npm i %", "uses %")
	case 2:
		return g.put(fmt.Sprintf("%s@%dx.%s", g.text(5, lower), 2+g.IntN(2), g.one("png", "jpg", "webp", "svg")), "see %", "img/%", `src="%"`)
	case 3:
		return g.put(fmt.Sprintf("git@%s:%s/%s.git", g.one(domains[:4]...), g.text(5, lower), g.text(5, lower)), "git clone %", "remote %", "origin %")
	case 4:
		return g.put(name+"@"+g.one("localhost", "web-1", "db", "raspberrypi"), "ssh %", "%:~$ ls", "as %")
	case 5:
		return g.put("@"+g.text(7, lower), "thanks %", "cc % please", "%: see above", "follow %.")
	case 6:
		return g.put(fmt.Sprintf("@%s@social.example", g.text(6, lower)), "follow %", "% wrote", "(%)")
	case 7:
		return g.put(fmt.Sprintf("ssh://%s@host.example:22/srv", name), "git remote add o %", "at %")
	case 8:
		return g.put(fmt.Sprintf("%s@host.example:/srv/%s", name, g.text(4, lower)), "scp f %", "rsync -a d %")
	case 9:
		return g.put(fmt.Sprintf("%d @ %d.%s", 1+g.IntN(9), g.IntN(100), g.digits(2)), "% each", "lot: %", "buy %")
	case 10:
		return g.put(g.one("HEAD@{2}", "main@{yesterday}", "Object@1b2c3d", "foo@bar", "x @y.z", "a@", "@b.example", "name @ example.org", "user@10.0.0.1", "@media print", "@Override", "obj@slot.name()", "@", "a@b@c"), "see %", "% there", "as % says")
	case 11:
		return g.put(strings.ToLower(name)+"@sha256:"+g.text(64, hex), "pull %", "from %")
	}
	return g.common()
}
