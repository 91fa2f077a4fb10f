package chars_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/internal/chars"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		head string
		more int
	}{
		{"", 0, "", 0}, {"abc", 3, "abc", 0}, {"abc", 2, "ab", 1}, {"abc", 0, "", 3}, {"abc", -1, "", 3},
		{"東京と京都", 5, "東京と京都", 0}, {"東京と京都", 2, "東京", 3}, {"a🎈b", 2, "a🎈", 1}, {"\xff\xffa", 1, "\xff", 2},
	} {
		head, more := chars.Cut(c.text, c.max)
		require.Equal(t, c.head, head, "%q", c.text)
		require.Equal(t, c.more, more, "%q", c.text)
		require.Equal(t, more > 0, chars.Over(c.text, c.max), "%q", c.text)
	}
	require.Equal(t, "東京…", chars.Clip("東京と京都", 2))
	require.Equal(t, "東京", chars.Clip("東京", 2))
}
