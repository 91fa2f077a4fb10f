package web

import (
	"encoding/json"
	"time"
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
