package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/convene-run/convene/events"
)

// Append implements [events.Log].
func (l *Log) Append(
	ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope,
) error {
	last, err := l.append(ctx, key, epoch, after, envs, (*transaction).add)
	if err == nil && len(envs) > 0 {
		l.setEnd(key, last)
	}
	return err
}

// AppendLast implements [events.Log].
func (l *Log) AppendLast(
	ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope,
) error {
	_, err := l.append(ctx, key, epoch, after, envs, func(tx *transaction, state *threadState, envs []events.Envelope, blocks []block) error {
		if err := tx.add(state, envs, blocks); err != nil {
			return err
		}
		return tx.release(state)
	})
	if err == nil {
		l.dropEnd(key)
	}
	return err
}

// append has add put events behind those that the thread has, and gives the thread's new end.
func (l *Log) append(
	ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope,
	add func(*transaction, *threadState, []events.Envelope, []block) error,
) (last end, err error) {
	last, known, err := l.endAt(ctx, key, after)
	if err != nil {
		return end{}, err
	}
	var blocks []block
	if known {
		if blocks, err = l.prepare(key, &last, envs); err != nil {
			return end{}, err
		}
	}
	return last, l.send(ctx, &request{patient: true, apply: func(tx *transaction) (refusal, failure error) {
		state, err := tx.thread(key)
		switch {
		case err != nil:
			return nil, err
		case state == nil || state.owner == "" || state.epoch != epoch:
			return fmt.Errorf("append to thread=%s epoch=%d: %w", key.Thread, epoch, events.ErrFenced), nil
		case !known || state.last.seq != after:
			return fmt.Errorf("append to thread=%s after=%d last=%d: %w", key.Thread, after, state.last.seq, events.ErrConflict), nil
		}
		return nil, add(tx, state, envs, blocks)
	}})
}

// AppendFirst implements [events.Log].
func (l *Log) AppendFirst(ctx context.Context, key events.ThreadKey, owner events.Owner, envs []events.Envelope) (events.Epoch, error) {
	if err := owner.CheckClaim(key); err != nil {
		return 0, err
	}
	last := end{chain: chain{sum: events.FirstChecksum(key)}}
	blocks, err := l.prepare(key, &last, envs)
	if err != nil {
		return 0, err
	}
	var epoch events.Epoch
	err = l.submit(ctx, func(tx *transaction) (refusal, failure error) {
		state, refusal, failure := tx.threadFor(key)
		if refusal != nil || failure != nil {
			return refusal, failure
		}
		if state.last.seq > 0 {
			return fmt.Errorf("begin thread=%s last=%d: %w", key.Thread, state.last.seq, events.ErrConflict), nil
		}
		if refusal, failure = tx.claimFor(state, owner, false); refusal != nil || failure != nil {
			return refusal, failure
		}
		epoch = state.epoch
		return nil, tx.add(state, envs, blocks)
	})
	if err == nil {
		l.setEnd(key, last)
	}
	return epoch, err
}

// prepare stamps and packs events behind the end of a thread, which it moves along.
func (l *Log) prepare(key events.ThreadKey, last *end, envs []events.Envelope) ([]block, error) {
	if err := events.Stamp(envs, key, last.seq, last.time, time.Now()); err != nil {
		return nil, err
	}
	blocks, err := l.pack(envs, last.chain)
	if err == nil && len(envs) > 0 {
		*last = end{blocks[len(blocks)-1].last, envs[len(envs)-1].Time}
	}
	return blocks, err
}
