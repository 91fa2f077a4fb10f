package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/rs/zerolog"

	"github.com/convene-run/convene/audit"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
)

// auditLines writes what is done as structured log lines, with the attributes of an entry in the
// group audit: refusals as warnings, what cannot be kept in the log as errors, and all else for
// information.
type auditLines struct {
	level  zerolog.Level
	logger *slog.Logger
}

// auditLines gives those of a level. What is not kept is told of at any.
func (a *app) auditLines(level zerolog.Level) *auditLines {
	if level == zerolog.Disabled {
		level = zerolog.ErrorLevel
	}
	// Groups are objects here; the handler of zerolog writes names with dots.
	handler := slog.NewJSONHandler(a.maskedLines(), &slog.HandlerOptions{Level: slogLevels[level], ReplaceAttr: asOtherLines})
	return &auditLines{level: level, logger: slog.New(handler)}
}

// slogLevels are the levels of --log-level.
var slogLevels = map[zerolog.Level]slog.Level{
	zerolog.DebugLevel: slog.LevelDebug, zerolog.InfoLevel: slog.LevelInfo, zerolog.WarnLevel: slog.LevelWarn, zerolog.ErrorLevel: slog.LevelError,
}

// asOtherLines names and writes what every line has as the other lines of the process do.
func asOtherLines(groups []string, attr slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case attr.Key == slog.LevelKey:
		attr.Value = slog.StringValue(strings.ToLower(attr.Value.String()))
	case attr.Key == slog.MessageKey:
		attr.Key = zerolog.MessageFieldName
	case attr.Key == slog.TimeKey:
		attr.Value = slog.StringValue(attr.Value.Time().Format(zerolog.TimeFieldFormat))
	}
	return attr
}

// entry writes what belongs to no run, with the error where the log does not take it.
func (l *auditLines) entry(e audit.Entry, err error) {
	switch {
	case errors.Is(err, sqlite.ErrReadOnly) || err == nil:
		l.write(e)
	default:
		l.logger.Error("not kept in the log: "+err.Error(), "audit", e)
	}
}

func (l *auditLines) write(e audit.Entry) {
	if e.Refused() {
		l.logger.Warn("refused", "audit", e)
		return
	}
	l.logger.Info("audit", "audit", e)
}

// events gives what writes a line of each event of a run that tells of something; nil where no
// line would be written.
func (l *auditLines) events(ctx context.Context, log audit.Log) func(events.Envelope) {
	if l.level > zerolog.WarnLevel {
		return nil
	}
	return func(env events.Envelope) {
		e, ok, err := audit.Tell(ctx, log, env)
		if err != nil {
			l.logger.Error("an event is missing among the lines of the audit: " + err.Error())
		} else if ok {
			l.write(e)
		}
	}
}
