package agent

import "time"

// count adds the time since the last look to that at work.
func (l *Live) count(now time.Time) {
	if l.atWork() && !(l.Queues && l.now.Phase == PhaseWaiting) {
		l.active += now.Sub(l.counted)
	}
	l.counted = now
}

func (l *Live) atWork() bool {
	switch l.now.Phase {
	case PhaseWaiting, PhaseThinking, PhaseWriting:
		return true
	case PhaseTools:
		return l.works > 0
	}
	return false
}

// Work says that an external tool or a function begins to work. heard says that
// something came from it, in words if it has any, done that it works no more; heard does
// nothing from then on.
func (l *Live) Work() (heard func(words string), done func()) {
	over := false // guarded by l.mu
	l.set(func(now time.Time) {
		l.works++
		if l.now.Phase == "" || l.now.Phase == PhaseTools {
			l.enter(PhaseTools, now)
		}
	})
	heard = func(words string) {
		l.set(func(now time.Time) {
			if over {
				return
			}
			l.now.Heard = now
			if words != "" {
				l.now.Progress, l.reporter = words, &over
			}
		})
	}
	done = func() {
		l.set(func(now time.Time) {
			if !over {
				over = true
				l.works--
				l.now.Heard = now
				if l.reporter == &over {
					l.now.Progress, l.reporter = "", nil
				}
			}
		})
	}
	return heard, done
}
