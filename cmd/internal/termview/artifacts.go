package termview

import (
	"fmt"

	"github.com/convene-run/convene/events"
)

// ArtifactLines say what a file of a run is and where it comes from.
func ArtifactLines(a *events.ArtifactCreated, maker events.AgentID, width int) []string {
	line := fmt.Sprintf("%s  %s  %s  %s", a.Artifact.Short(), Line(a.Name), Line(a.MediaType), bytesWord(a.SizeBytes))
	switch {
	case a.Pages == 1:
		line += "  1 page"
	case a.Pages > 1:
		line += fmt.Sprintf("  %d pages", a.Pages)
	}
	switch {
	case a.Source == events.SourceFile:
		line += "  came with the request"
	case a.Tool != "":
		line += fmt.Sprintf("  from %s of %s", Line(a.Tool), Line(string(maker)))
	}
	lines := []string{cut(line, width)}
	if a.Origin != "" {
		lines = append(lines, cut("  "+Line(a.Origin), width))
	}
	if a.Note != "" {
		lines = append(lines, cut("  "+Line(a.Note), width))
	}
	return lines
}

// bytesWord is a size in the unit that reads best.
func bytesWord(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
