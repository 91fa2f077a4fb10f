package webhook

import (
	"bytes"
	"fmt"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/sanitize"
)

// maxBodyBytes bounds what a receiver is sent for one event: only those that hold files or
// long replies are larger.
const maxBodyBytes = 1 << 20

// eventID names an event for receivers.
func eventID(env events.Envelope) string { return fmt.Sprintf("%s:%d", env.Thread, env.Seq) }

// encode gives the event as the API shows it, masked where the receiver is not sent all. Of one that is too large the data is replaced
// by its size: the API has it.
func (r Receiver) encode(env events.Envelope) ([]byte, error) {
	body, err := events.Encode(env)
	if err != nil {
		return nil, err
	}
	body = events.ForViewers(body)
	if !r.Unsanitized {
		body = sanitize.MaskJSON(new(sanitize.Detector), body)
	}
	if len(body) <= maxBodyBytes {
		return body, nil
	}
	// No earlier member can hold these bytes: quotes inside strings are escaped.
	head, data, _ := bytes.Cut(body, []byte(`,"data":`))
	return fmt.Appendf(bytes.Clone(head), `,"data":{"_clipped":"%d bytes"}}`, len(data)-1), nil
}
