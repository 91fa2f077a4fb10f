package handoff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/sanitize"
	"github.com/convene-run/convene/thread"
)

// Clean gives what an agent wrote as another one may read it, with at most limit characters,
// 0 for all: see [thread.Tx.Sanitize].
func (d *Desk) Clean(tx *thread.Tx, text string, limit int) string {
	return clip(tx.Sanitize(d.finder(), text, false), limit)
}

// CleanSaid is Clean for what a person wrote.
func (d *Desk) CleanSaid(tx *thread.Tx, text string, limit int) string {
	return clip(tx.Sanitize(d.finder(), text, true), limit)
}

// Learn gives placeholders to the passwords and keys in what was said lately, whoever passes
// them on and in whatever words: "log in with hunter2" does not say what hunter2 is.
func (d *Desk) Learn(tx *thread.Tx) {
	said := tx.Run.Spoken()
	for _, m := range tx.Run.Recent(conversation.MaxRecentMessages) {
		said = append(said, m.Content)
	}
	for _, text := range said {
		for _, f := range d.finder().Find(text) {
			if f.Kind == sanitize.Password || f.Kind == sanitize.Key {
				tx.Sanitize(sanitize.Whole(f.Kind), text[f.Start:f.End], true)
			}
		}
	}
}

func clip(text string, limit int) string {
	if limit == 0 {
		return text
	}
	return chars.Clip(text, limit)
}

func (d *Desk) finder() sanitize.Finder {
	if d.Sanitizer == nil {
		return new(sanitize.Detector)
	}
	return d.Sanitizer
}

// cleanJSON sanitizes the names, texts and numbers of a JSON value, and the whole text behind a
// name that says that it is secret. What is no JSON is left out.
func (d *Desk) cleanJSON(tx *thread.Tx, raw json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if len(raw) == 0 || decoder.Decode(&value) != nil {
		return nil
	}
	clean, _ := json.Marshal(d.cleanValue(tx, d.finder(), value)) // it came from JSON
	return clean
}

func (d *Desk) cleanValue(tx *thread.Tx, finder sanitize.Finder, value any) any {
	switch v := value.(type) {
	case string:
		return tx.Sanitize(finder, v, false)
	case json.Number:
		if clean := tx.Sanitize(finder, string(v), false); clean != string(v) {
			return clean
		}
	case []any:
		for i := range v {
			v[i] = d.cleanValue(tx, finder, v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) { // so that placeholders are the same whenever this is decided
			within := d.finder()
			if kind := sanitize.Named(name); kind != "" {
				if _, text := v[name].(string); text {
					within = sanitize.Whole(kind)
				}
			}
			clean[tx.Sanitize(d.finder(), name, false)] = d.cleanValue(tx, within, v[name])
		}
		return clean
	}
	return value
}

// CleanMessage gives a message of the thread as an agent may read it to whom it was not said.
func (d *Desk) CleanMessage(tx *thread.Tx, m *thread.Message) string {
	return tx.Sanitize(d.finder(), m.Content, m.Role == events.RoleUser)
}
