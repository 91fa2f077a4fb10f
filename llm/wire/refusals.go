package wire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/convene-run/convene/llm"
)

// Fields is a set of optional fields of a request, each a bit that its adapter
// names. Models differ in which they take (newer ones of OpenAI no temperature,
// older servers no stream_options).
type Fields uint16

// Has reports whether the set holds a field.
func (f Fields) Has(one Fields) bool { return f&one != 0 }

// Optional is a field that can be left out, and the words by which endpoints refuse
// it.
type Optional struct {
	Words string
	Field Fields
}

// maxRefusals bounds the attempts of one call to find out what to leave out.
const maxRefusals = 6

// Refusals remembers for each model which optional fields it refused by name; they
// are left out from then on. It is safe for concurrent use.
type Refusals struct {
	optional []Optional

	mu      sync.Mutex // guards refused
	refused map[string]Fields
}

// NewRefusals makes an empty memory of the fields.
func NewRefusals(optional ...Optional) *Refusals {
	return &Refusals{optional: optional, refused: map[string]Fields{}}
}

// Of gives the fields that a model refuses.
func (r *Refusals) Of(model string) Fields {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused[model]
}

// refusedField says that the endpoint takes the request without a field.
type refusedField struct {
	field Fields
	err   *llm.Error
}

func (r *refusedField) Error() string { return r.err.Error() }

// refusedKept says that the endpoint takes the request without what it was to get
// back.
type refusedKept struct{ err *llm.Error }

func (r *refusedKept) Error() string { return r.err.Error() }

// RefusedKept marks an answer that refuses what was sent back.
func RefusedKept(e *llm.Error) error { return &refusedKept{e} }

// Look finds in a refused request's answer a field that could be left out. The effort
// is none of them: somebody set it, so its refusal says what to do.
func (r *Refusals) Look(req *llm.Request, e *llm.Error, param string) error {
	if e.Kind != llm.ErrBadRequest || (e.Status != 400 && e.Status != 422) {
		return e
	}
	text := param + " " + e.Message
	known := r.Of(e.Model)
	for _, candidate := range r.optional {
		if strings.Contains(text, candidate.Words) && !known.Has(candidate.Field) {
			return &refusedField{field: candidate.Field, err: e}
		}
	}
	if words := strings.ToLower(text); req.Effort != "" && (strings.Contains(words, "effort") || strings.Contains(words, "thinking")) {
		e.Message += fmt.Sprintf(" (the effort %q was requested: set another, or leave it out)", req.Effort)
	}
	return e
}

// Without asks for the call again without a field, whatever the endpoint's answer was like. It
// gives e where the field was left out already.
func (r *Refusals) Without(field Fields, e *llm.Error) error {
	if r.Of(e.Model).Has(field) {
		return e
	}
	return &refusedField{field: field, err: e}
}

// Stream makes the call, again without each field that the endpoint turns out not to
// take, and without what it wanted back where it does not know that any more. attempt
// makes one request.
func (r *Refusals) Stream(ctx context.Context, req llm.Request, attempt func(context.Context, *llm.Request, func(llm.Delta, error) bool) error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		err := attempt(ctx, &req, yield)
		if err == nil {
			return
		}
		dropped, send := false, yield
		for range maxRefusals {
			var field *refusedField
			var kept *refusedKept
			switch {
			case errors.As(err, &field):
				r.learn(req.Model, field.field)
			case errors.As(err, &kept) && !dropped && llm.HasKept(req.Messages):
				dropped, req.Messages = true, llm.WithoutKept(req.Messages)
				send = func(d llm.Delta, err error) bool {
					if d.Done != nil {
						d.Done.KeptDropped = true
					}
					return yield(d, err)
				}
			default:
				r.fail(err, yield)
				return
			}
			err = attempt(ctx, &req, send)
		}
		r.fail(err, yield)
	}
}

func (r *Refusals) learn(model string, field Fields) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[model] |= field
}

// fail hands the last error on, as the endpoint gave it.
func (r *Refusals) fail(err error, yield func(llm.Delta, error) bool) {
	var field *refusedField
	var kept *refusedKept
	switch {
	case errors.As(err, &field):
		err = field.err
	case errors.As(err, &kept):
		err = kept.err
	}
	if err != nil && !errors.Is(err, errStopped) {
		yield(llm.Delta{}, err)
	}
}
