package builtin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCalculate(t *testing.T) {
	for expression, want := range map[string]string{
		"1 + 2 * 3":                 "7",
		"0.1 + 0.2":                 "0.3",
		"(1249.50 * 12) * 1.19":     "17842.86",
		"17 / 3":                    "5.66666666666667",
		"round(17 / 3, 2)":          "5.67",
		"round(1.005, 2)":           "1.01",
		"round(-2.5)":               "-3",
		"2 ** 10":                   "1024",
		"-7 % 3":                    "-1",
		"9007199254740993 * 1000":   "9.00719925474099e+18",
		"9223372036854775807 + 1":   "9.22337203685478e+18",
		"max(3, 12, 5) - min(4, 2)": "10",
		"sum([1, 2, 3.5])":          "6.5",
		"mean([1, 2, 6])":           "3",
		"median([1, 9, 3])":         "3",
		"sqrt(2) ** 2":              "2",
		"ln(exp(2)) + log10(1000)":  "5",
		"120 * 30 > 3500":           "true",
		"1e3 + 1":                   "1001",
		strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100): "1",
	} {
		got, err := calculate(expression)
		require.NoError(t, err, expression)
		require.Equal(t, want, got, expression)
	}
}

// What is no arithmetic, or too much of it, is said to the model.
func TestCalculateRefuses(t *testing.T) {
	for expression, want := range map[string]string{
		"":                               "unexpected token EOF",
		"1 +":                            "unexpected token EOF (at character",
		"1 / 0":                          "divided by zero",
		"sqrt(-1)":                       "no number",
		"10 ** 400":                      "too large",
		`"a" + "b"`:                      "not one of numbers",
		"now()":                          "unknown name now",
		"map([1, 2], # * 2)":             "",
		"1..1000000000":                  "",
		"price * 2":                      "unknown name price",
		"round(1, 400)":                  "whole decimals",
		"round(1, 0.5)":                  "whole decimals",
		"sqrt(\"2\")":                    "",
		"[1, 2]":                         "not one of numbers",
		"nil":                            "not one of numbers",
		strings.Repeat("1+", 1999) + "1": "",
		strings.Repeat("1+", 3000) + "1": "work it out in parts",
		strings.Repeat("(", 3999):        "",
	} {
		got, err := calculate(expression)
		require.Error(t, err, "%.20s = %s", expression, got)
		require.ErrorContains(t, err, want, expression)
		require.NotContains(t, err.Error(), "\n")
	}
}
