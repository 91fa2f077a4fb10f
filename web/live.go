package web

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/convene-run/convene/events"
)

// liveMessage is the present moment of a run as it is sent: not in the log, the
// newest one counts, any may be left out.
type liveMessage struct {
	Lossy bool `json:"lossy"`
	// Now is the server's clock, for the durations that the page counts.
	Now time.Time `json:"now"`
	// Driven is set where the server's own process drives the run. Where another one
	// does, what its agents do now cannot be seen.
	Driven bool        `json:"driven"`
	Agents []LiveAgent `json:"agents"`
}

// encodeLive gives the message and the part of it that tells two moments apart.
func encodeLive(agents []LiveAgent, driven bool) (message []byte, state string) {
	if agents == nil {
		agents = []LiveAgent{}
	}
	m := liveMessage{Lossy: true, Driven: driven, Agents: agents}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, ""
	}
	m.Now = time.Now().UTC()
	if message, err = json.Marshal(m); err != nil {
		return nil, ""
	}
	return message, string(body)
}

// minStreamBytes is what a viewer gets of a stream who has just come: a line or two.
const minStreamBytes = 200

// recent leaves out of the streams what every viewer has by now: what was sent with
// the message before the last one. A viewer who missed both has a gap, and shows one.
type recent struct {
	// ends are the places up to which each agent's stream was sent with the last two
	// messages, the older first.
	ends map[streamKey][2]int64
}

type streamKey struct {
	agent    events.AgentID
	dispatch events.DispatchID
	call     events.ModelCallID
	attempt  int
}

// trim cuts the streams in place.
func (r *recent) trim(agents []LiveAgent) {
	ends := make(map[streamKey][2]int64, len(agents))
	for i := range agents {
		a := &agents[i]
		if len(a.Stream) == 0 {
			continue
		}
		key, end := streamKey{a.Agent, a.Dispatch, a.Call, a.Attempt}, a.Stream[len(a.Stream)-1].end()
		sent := r.ends[key]
		ends[key] = [2]int64{sent[1], end}
		a.Stream = streamAfter(a.Stream, min(sent[0], end-minStreamBytes))
	}
	r.ends = ends
}

// streamAfter gives the pieces behind a place of the stream.
func streamAfter(stream []LivePiece, place int64) []LivePiece {
	for len(stream) > 0 && stream[0].end() <= place {
		stream = stream[1:]
	}
	if len(stream) == 0 {
		return nil
	}
	if cut := place - stream[0].From; cut > 0 {
		first := &stream[0]
		for cut < int64(len(first.Text)) && !utf8.RuneStart(first.Text[cut]) {
			cut++
		}
		first.From, first.Text, first.Begins = first.From+cut, first.Text[cut:], false
	}
	return stream
}
