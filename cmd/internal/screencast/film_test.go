package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A style goes on over the end of a line, lines that stand in several frames are there once,
// and what a program writes cannot leave its element.
func TestFilm(t *testing.T) {
	svg := film([]frame{
		{"$ ls\n\x1b[1mbold\n\x1b[0m  \x1b[36m● <b>&\x1b[39m \x1b[2mvery   faint\x1b[0m", time.Second},
		{"$ ls\n\x1b[1mbold\n\x1b[0m", 3 * time.Second},
	})
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, 3, strings.Count(svg, `<g id="l`), svg)
	require.Equal(t, 5, strings.Count(svg, "<use "))
	require.Contains(t, svg, `<text x="32.8" textLength="50.4" fill="#39c5cf">● &lt;b&gt;&amp;</text><text x="91.6" textLength="33.6" opacity=".65">very</text><text x="150.4" textLength="42.0" opacity=".65">faint</text>`)
	require.Contains(t, svg, `font-weight="bold">bold</text>`)
	require.Contains(t, svg, "animation:film 4.0s")
	require.Contains(t, svg, "25.000%{transform:translateX(-872px)}")
}
