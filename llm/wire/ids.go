package wire

import (
	"crypto/sha256"
	"math/rand/v2"

	"github.com/convene-run/convene/events"
)

// Ids of calls that every endpoint takes: nine letters and digits is the only form that
// Mistral does.
const (
	CallIDLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	CallIDLength  = 9
)

// UniqueID gives the endpoint's id of a call where it is usable, else a new one (WIRE
// 7): neither a call of the history nor one of the reply so far may have it.
func UniqueID(raw string, history []events.Message, reply []events.ToolCall) events.CallID {
	id := events.CallID(raw)
	for id == "" || has(reply, id) || taken(history, id) {
		id = newCallID()
	}
	return id
}

func taken(history []events.Message, id events.CallID) bool {
	for i := range history {
		if has(history[i].ToolCalls, id) {
			return true
		}
	}
	return false
}

func has(calls []events.ToolCall, id events.CallID) bool {
	for i := range calls {
		if calls[i].ID == id {
			return true
		}
	}
	return false
}

func newCallID() events.CallID {
	var id [CallIDLength]byte
	for i := range id {
		id[i] = CallIDLetters[rand.IntN(len(CallIDLetters))]
	}
	return events.CallID(id[:])
}

// ShortID gives an id in a form that every endpoint takes, always the same for it.
func ShortID(id events.CallID) string {
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, CallIDLength)
	for i := range short {
		short[i] = CallIDLetters[int(sum[i])%len(CallIDLetters)]
	}
	return string(short)
}
