package lazyregexp

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestMethodsAreThoseOfRegexp(t *testing.T) {
	lazy, plain := reflect.TypeFor[*Regexp](), reflect.TypeFor[*regexp.Regexp]()
	const text, expression = "one 2b three 4444", `(\d)(\w*)`
	arguments := map[string][]any{
		"String": {}, "MatchString": {text}, "FindString": {text}, "FindStringIndex": {text}, "FindStringSubmatch": {text}, "FindStringSubmatchIndex": {text},
		"FindSubmatch": {[]byte(text)}, "FindAllString": {text, -1}, "FindAllStringIndex": {text, -1}, "FindAllStringSubmatch": {text, 1}, "FindAllStringSubmatchIndex": {text, -1},
		"ReplaceAllString": {text, "<$2$1>"}, "ReplaceAllStringFunc": {text, strings.ToUpper}, "Split": {text, 2},
	}
	for i := range lazy.NumMethod() {
		name := lazy.Method(i).Name
		called, there := plain.MethodByName(name)
		if !there || arguments[name] == nil {
			t.Errorf("%s has no counterpart, or this test no arguments for it", name)
			continue
		}
		with := []reflect.Value{{}}
		for _, argument := range arguments[name] {
			with = append(with, reflect.ValueOf(argument))
		}
		with[0] = reflect.ValueOf(regexp.MustCompile(expression))
		want := called.Func.Call(with)[0].Interface()
		with[0] = reflect.ValueOf(New(expression))
		if got := lazy.Method(i).Func.Call(with)[0].Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %v, regexp %v", name, got, want)
		}
	}
}

func TestExpressionIsCompiledOnceWhenUsed(t *testing.T) {
	defer func(before bool) { inTest = before }(inTest)
	inTest = false
	broken := New(`(`)
	if !panics(func() { broken.MatchString("") }) {
		t.Error("an expression that does not parse was used")
	}
	r := New(`a+`)
	if first := r.compiled(); first != r.compiled() {
		t.Error("the expression is compiled anew for each use")
	}
	inTest = true
	if !panics(func() { New(`(`) }) {
		t.Error("in a test, an expression that does not parse was accepted")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
