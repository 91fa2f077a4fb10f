package tenants

import "time"

// Shortest gives, for each kind, the shortest time that it is kept in any tenant; 0 where no
// tenant has any removed.
func (f *File) Shortest() Retention {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.content.of("").Retention // no tenant is named so: that of default
	for tenant := range f.content.Tenants {
		of := f.content.of(tenant).Retention
		all.Runs = shorter(all.Runs, of.Runs)
		all.Conversations = shorter(all.Conversations, of.Conversations)
		all.Batches = shorter(all.Batches, of.Batches)
		all.SavedState = shorter(all.SavedState, of.SavedState)
	}
	return all
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
