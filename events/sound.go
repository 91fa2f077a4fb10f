package events

import (
	"context"
	"errors"
)

// maxDamaged bounds what [ReadSound] goes on behind: each takes a look at the whole thread.
const maxDamaged = 100

// ReadSound is [Reader.ReadEncoded] for those who want what there is of a thread: it goes on
// behind what is damaged, and tells of that beside the events. Of limit events (0: all there
// are) the damaged ones count too. Behind the hundredth damage nothing is read, which its problem
// says.
func ReadSound(ctx context.Context, log Reader, key ThreadKey, after Seq, limit int) (sound []Encoded, damaged []DamagedError, err error) {
	through := after + Seq(limit)
	for limit == 0 || after < through {
		page, err := log.ReadEncoded(ctx, key, after, max(0, int(through-after)))
		var found *DamagedError
		if !errors.As(err, &found) {
			return append(sound, page...), damaged, err
		}
		if before := int(found.Seq-after) - 1; before > 0 {
			if page, err = log.ReadEncoded(ctx, key, after, before); err != nil {
				return nil, nil, err
			}
			sound = append(sound, page...)
		}
		damaged = append(damaged, *found)
		if len(damaged) == maxDamaged {
			damaged[maxDamaged-1].Problem += "; nothing behind it was read"
			return sound, damaged, nil
		}
		after = max(found.Seq, found.Through)
	}
	return sound, damaged, nil
}
