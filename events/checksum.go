package events

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Checksum stands for an event and all events before it in its thread: it is made of the
// event's bytes in the form of [Encode] and of the checksum before. A durable log keeps
// one with each event and compares it whenever the event is read, so that a flipped bit,
// an event of another thread, a lost or a repeated one all show. It is a function of the
// events alone: how a log lays them out does not count, and the checksum of the last
// event proves a copy of the thread.
//
// It is the first half of a SHA-256. It finds damage; who may write the log can make
// another.
type Checksum [sha256.Size / 2]byte

// FirstChecksum is what the first event of a thread is chained to.
func FirstChecksum(key ThreadKey) Checksum {
	name := binary.AppendUvarint(nil, uint64(len(key.Tenant)))
	name = append(append(name, key.Tenant...), key.Thread...)
	sum := sha256.Sum256(name)
	return Checksum(sum[:])
}

// Next is the checksum of the event that follows, in the form of [Encode].
func (c Checksum) Next(body []byte) Checksum {
	hash := sha256.New()
	hash.Write(c[:])
	hash.Write(body)
	var sum [sha256.Size]byte
	return Checksum(hash.Sum(sum[:0]))
}

// ErrDamaged is for events that are not what was appended. The error is a
// [*DamagedError].
var ErrDamaged = errors.New("damaged")

// DamagedError names the first damaged event among those that were asked for. Those
// before it and those behind it can be read.
type DamagedError struct {
	Key ThreadKey
	Seq Seq
	// Through is the last of those behind it that cannot be read either, for the same reason; 0
	// where it is the only one.
	Through Seq
	// Problem says what is wrong with it.
	Problem string
}

func (e *DamagedError) Error() string {
	switch {
	case e.Seq == 0:
		return fmt.Sprintf("what is listed of thread=%s is damaged: %s", e.Key.Thread, e.Problem)
	case e.Through > e.Seq:
		return fmt.Sprintf("events seq=%d of thread=%s to seq=%d are damaged: %s", e.Seq, e.Key.Thread, e.Through, e.Problem)
	}
	return fmt.Sprintf("event seq=%d of thread=%s is damaged: %s", e.Seq, e.Key.Thread, e.Problem)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// Note is what a summary keeps of the error.
func (e *DamagedError) Note() *Damage {
	return &Damage{Seq: e.Seq, Through: e.Through, Problem: e.Problem}
}

// Damage says in a summary that an event of its thread cannot be read.
type Damage struct {
	// Seq is that of the event; 0 where what is listed is damaged and no event is known to be.
	Seq Seq `json:"seq"`
	// Through is as in [DamagedError].
	Through Seq `json:"through_seq,omitempty"`
	// Problem says what is wrong with it.
	Problem string `json:"problem"`
}

// In is the error that was noted, of an event of that thread.
func (d *Damage) In(key ThreadKey) error {
	return &DamagedError{Key: key, Seq: d.Seq, Through: d.Through, Problem: d.Problem}
}
