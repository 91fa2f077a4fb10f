package termview

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/convene-run/convene/events"
)

// Theme decides how text stands out. The zero value writes plain text.
type Theme struct {
	// Color allows colours and weights. Colours are the terminal's own sixteen, so
	// that they suit light and dark alike.
	Color bool
	// Screen is set where a person reads it on a terminal: Markdown is set for reading, with
	// colours or without.
	Screen bool
}

// Signs of tasks and runs. They carry the meaning; colour only repeats it.
const (
	signDone      = "✓"
	signActive    = "◐"
	signOpen      = "○"
	signNotice    = "!"
	signFailed    = "✗"
	signParked    = "‖"
	signAsking    = "?"
	signCancelled = "–"
)

// StatusInterrupted is shown of a run or a batch that nobody drives and that nobody parked:
// its process was killed. The log still has it running.
const StatusInterrupted events.Status = "interrupted"

// StatusDamaged is shown of a run or a batch of which an event cannot be read.
const StatusDamaged events.Status = "damaged"

func (t Theme) paint(s string, c color.Color) string {
	if !t.Color {
		return s
	}
	return lipgloss.NewStyle().Foreground(c).Render(s)
}

func (t Theme) active(s string) string { return t.paint(s, lipgloss.Cyan) }
func (t Theme) good(s string) string   { return t.paint(s, lipgloss.Green) }
func (t Theme) notice(s string) string { return t.paint(s, lipgloss.Yellow) }
func (t Theme) failed(s string) string { return t.paint(s, lipgloss.Red) }

func (t Theme) strong(s string) string {
	if !t.Color {
		return s
	}
	return lipgloss.NewStyle().Bold(true).Render(s)
}

func (t Theme) quiet(s string) string {
	if !t.Color {
		return s
	}
	return lipgloss.NewStyle().Faint(true).Render(s)
}

// status gives a run's status with its sign, in the words of the dashboard.
func (t Theme) status(status events.Status) string {
	switch word := StatusWord(status); status {
	case events.StatusCompleted:
		return t.good(signDone + " " + word)
	case events.StatusFailed, StatusDamaged:
		return t.failed(signFailed + " " + word)
	case events.StatusRunning:
		return t.active(signActive + " " + word)
	case events.StatusQueued:
		return t.quiet(signOpen + " " + word)
	case events.StatusCancelled:
		return t.quiet(signCancelled + " " + word)
	case events.StatusSuspended, StatusInterrupted:
		return t.notice(signParked + " " + word)
	case events.StatusAwaitingInput:
		return t.notice(signAsking + " " + word)
	default:
		return t.notice(signNotice + " " + word)
	}
}

// StatusWord is how people read a status.
func StatusWord(status events.Status) string { return strings.ReplaceAll(string(status), "_", " ") }
