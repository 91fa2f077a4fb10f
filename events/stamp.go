package events

import (
	"fmt"
	"time"
)

// Stamp makes envs the continuation of a thread: it sets tenant, thread and seq,
// gives a zero time the value now, and clamps times so that they never go back
// behind last, the time of the event with seq after. Every [Log] stamps what it
// appends with it.
func Stamp(envs []Envelope, key ThreadKey, after Seq, last, now time.Time) error {
	for i := range envs {
		env := &envs[i]
		if env.Data == nil {
			return fmt.Errorf("event %d of %d for thread=%s has no data", i+1, len(envs), key.Thread)
		}
		env.Tenant, env.Thread, env.Seq = key.Tenant, key.Thread, after+Seq(i)+1
		if env.Time.IsZero() {
			env.Time = now
		}
		// Round drops the monotonic reading, which no other process could compare.
		env.Time = env.Time.Round(0).UTC()
		if env.Time.Before(last) {
			env.Time = last
		}
		last = env.Time
	}
	return nil
}

// CheckClaim says whether the owner can claim a thread with this key, if it is free.
func (o Owner) CheckClaim(key ThreadKey) error {
	if err := key.Check(); err != nil {
		return err
	}
	if o == "" {
		return fmt.Errorf("claim thread=%s: no owner", key.Thread)
	}
	return nil
}

// Check says whether a thread can have this key.
func (k ThreadKey) Check() error {
	if k.Tenant == "" || k.Thread == "" {
		return fmt.Errorf("thread key tenant=%q thread=%q: both are needed", k.Tenant, k.Thread)
	}
	return nil
}
