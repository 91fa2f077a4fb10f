package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocales(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		ascii            bool
	}{
		{"", "", "", false},
		{"C", "", "en_US.UTF-8", true},
		{"", "POSIX", "en_US.UTF-8", true},
		{"", "", "C", true},
		{"", "", "C.UTF-8", false},
		{"", "UTF-8", "", false}, // as macOS has it
		{"en_US.utf8", "C", "C", false},
		{"", "", "de_DE", false},
		{"", "", "de_DE.ISO-8859-1", true},
		{"", "", "de_DE.UTF-8@euro", false},
		{"de_DE@euro.x", "", "", false},
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		require.Equal(t, c.ascii, asciiOnly(func(name string) string { return env[name] }), "%+v", c)
	}
}
