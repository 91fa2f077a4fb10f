package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/tenants"
)

// Tenants says what each tenant may use, now: [tenants.File] does. Implementations are safe
// for concurrent use and do not block.
type Tenants interface {
	Of(tenant events.TenantID) tenants.Limits
}

// ErrQuota is that of a [QuotaError].
var ErrQuota = errors.New("the quota of the tenant is met")

// QuotaError says that a tenant drives as many runs as it may, or has used what it may use in
// a day. It is an [ErrQuota].
type QuotaError struct {
	Tenant events.TenantID
	// Limit is [events.LimitTenantRuns], [events.LimitTenantTokens] or [events.LimitTenantDollars].
	Limit       events.Limit
	Value, Used float64
	// Until is when the next day begins; zero for runs, of which one may end at any time.
	Until time.Time
}

// Is makes errors.Is(err, ErrQuota) true.
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }

func (e *QuotaError) Error() string {
	if e.Limit == events.LimitTenantRuns {
		return fmt.Sprintf("tenant %s has %.0f runs under way, and runs_at_once is %.0f: try again when one has ended, or stop one", e.Tenant, e.Used, e.Value)
	}
	what := "tokens"
	if e.Limit == events.LimitTenantDollars {
		what = "US dollars"
	}
	return fmt.Sprintf("tenant %s has used %s of the %s %s that it may use today (%s): it goes on at %s, or with a higher quota",
		e.Tenant, events.Amount(e.Limit, e.Used), events.Amount(e.Limit, e.Value), what, e.Limit, e.Until.Format(time.RFC3339))
}

// quotas keeps tenants within their limits: what they use in a day is a fold of the log, so
// that a restart, or another process, resets nothing. It is safe for concurrent use.
type quotas struct {
	limits Tenants
	log    events.Tailer

	mu sync.Mutex // guards what follows
	// places counts the runs that are driven here, or about to be.
	places map[events.TenantID]int
	// day is the midnight, in UTC, since which days counts, read the time of the newest look at
	// the log, and place how far that came.
	day, read time.Time
	place     events.Cursor
	days      map[events.TenantID]*usedToday
	// copied are the first events of forks, which others paid for.
	copied map[events.ThreadKey]events.Seq
}

// usedToday is what a tenant has used in a day: by the log, and in the account with what the
// calls of this process took whose events are not there yet.
type usedToday struct {
	logged  Amount
	account *account
}

func newQuotas(limits Tenants, log events.Tailer) *quotas {
	return &quotas{
		limits: limits, log: log,
		places: map[events.TenantID]int{}, days: map[events.TenantID]*usedToday{}, copied: map[events.ThreadKey]events.Seq{},
	}
}

// lookAtLog is how old what is known of the log may be: other processes use little meanwhile.
const lookAtLog = 5 * time.Second

// of gives the limits of a tenant; there are none where nobody set any.
func (q *quotas) of(tenant events.TenantID) tenants.Limits {
	if q.limits == nil {
		return tenants.Limits{}
	}
	return q.limits.Of(tenant)
}

// enter keeps a place for a run that is about to begin or to be taken up. The error is a
// [*QuotaError], or the log's.
func (q *quotas) enter(ctx context.Context, tenant events.TenantID) error {
	limits := q.of(tenant)
	if err := q.exhausted(ctx, tenant, limits); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if running := q.places[tenant]; limits.RunsAtOnce > 0 && running >= limits.RunsAtOnce {
		return &QuotaError{Tenant: tenant, Limit: events.LimitTenantRuns, Value: float64(limits.RunsAtOnce), Used: float64(running)}
	}
	q.places[tenant]++
	return nil
}

// full is why no run of the tenant can begin, nil where one can.
func (q *quotas) full(ctx context.Context, tenant events.TenantID) error {
	err := q.enter(ctx, tenant)
	if err == nil {
		q.leave(tenant)
	}
	return err
}

func (q *quotas) leave(tenant events.TenantID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.places[tenant]--; q.places[tenant] == 0 {
		delete(q.places, tenant)
	}
}

// exhausted is a [*QuotaError] where the tenant has used what it may use today.
func (q *quotas) exhausted(ctx context.Context, tenant events.TenantID, limits tenants.Limits) error {
	budget, err := q.budget(ctx, tenant, limits)
	if budget == nil || err != nil {
		return err
	}
	tokens, dollars := budget.Spent()
	if tokens < limits.TokensPerDay || limits.TokensPerDay == 0 {
		if dollars < limits.DollarsPerDay || limits.DollarsPerDay == 0 {
			return nil
		}
		return q.met(tenant, events.LimitTenantDollars, limits.DollarsPerDay, dollars)
	}
	return q.met(tenant, events.LimitTenantTokens, float64(limits.TokensPerDay), float64(tokens))
}

func (q *quotas) met(tenant events.TenantID, limit events.Limit, value, used float64) *QuotaError {
	return &QuotaError{Tenant: tenant, Limit: limit, Value: value, Used: used, Until: midnight(time.Now()).AddDate(0, 0, 1)}
}

// budget gives what bounds the calls of a tenant today, nil where nothing does.
func (q *quotas) budget(ctx context.Context, tenant events.TenantID, limits tenants.Limits) (*LocalBudget, error) {
	if limits.TokensPerDay == 0 && limits.DollarsPerDay == 0 {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.look(ctx); err != nil {
		return nil, fmt.Errorf("what tenant %s has used today cannot be read: %w", tenant, err)
	}
	used := q.today(tenant)
	used.account.bind(float64(limits.TokensPerDay), limits.DollarsPerDay)
	return &LocalBudget{used.account}, nil
}

// reserve keeps what a call of the tenant may use today, and gives the budget that has it, nil
// where nothing is bounded. It waits for calls under way that may give something back. The
// error is a [*QuotaError] where the day has no room for the call, the context's cause or the
// log's.
func (q *quotas) reserve(ctx context.Context, tenant events.TenantID, most Amount) (*LocalBudget, error) {
	if q == nil {
		return nil, nil
	}
	budget, err := q.budget(ctx, tenant, q.of(tenant))
	if budget == nil || err != nil {
		return nil, err
	}
	err = budget.Reserve(ctx, most, false)
	var limit *events.LimitError
	if errors.As(err, &limit) {
		err = q.met(tenant, limit.Limit, limit.Value, limit.Used)
	}
	if err != nil {
		return nil, err
	}
	return budget, nil
}

func (q *quotas) today(tenant events.TenantID) *usedToday {
	if q.days[tenant] == nil {
		q.days[tenant] = &usedToday{account: newAccount(0, 0, 0, events.LimitTenantTokens, events.LimitTenantDollars)}
	}
	return q.days[tenant]
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// paid are the kinds of events that say what calls used.
var paid = []events.Kind{events.KindModelCalled, events.KindModelCallFailed, events.KindAgentFinished, events.KindError, events.KindWorkflowStarted}

// look brings what is known of the log up to date; q.mu is held.
func (q *quotas) look(ctx context.Context) error {
	now := time.Now()
	if today := midnight(now); !today.Equal(q.day) {
		q.day, q.read = today, time.Time{}
		clear(q.copied)
		for _, used := range q.days {
			used.logged = Amount{}
			used.account.restart()
		}
	}
	if !q.read.IsZero() && now.Sub(q.read) < lookAtLog {
		return nil
	}
	for item, err := range q.log.Tail(ctx, events.TailFilter{Kinds: paid, From: q.day, Past: true}, q.place) {
		if errors.As(err, new(*events.DamagedError)) {
			q.place = item.Cursor // whoever reads that thread is told
			return q.look(ctx)
		}
		if err != nil {
			return err
		}
		q.place = item.Cursor
		if item.Envelope.Data != nil {
			q.count(item.Envelope)
		}
	}
	q.read = now
	for _, used := range q.days {
		used.account.atLeast(used.logged)
	}
	return nil
}

// count adds what an event says was used.
func (q *quotas) count(env events.Envelope) {
	if started, ok := env.Data.(events.WorkflowStarted); ok && started.ForkedFrom != nil {
		q.copied[env.Key()] = started.ForkedFrom.Seq
	}
	if env.Time.Before(q.day) || env.Seq <= q.copied[env.Key()] {
		return
	}
	q.today(env.Tenant).logged.add(usedIn(env.Data))
}

// usedIn is what an event says was used.
func usedIn(fact events.Event) (used Amount) {
	if called, ok := fact.(events.ModelCalled); ok {
		used = amountOf(called.Usage, called.CostUSD)
	}
	if lost := events.LostIn(fact); lost != nil {
		used.add(amountOf(lost.Usage, lost.CostUSD))
	}
	return used
}

// Over gives the quotas that are below what their tenants use now, sorted by tenant: they
// take effect as runs end, or with the next day. The error is the log's.
func (r *Runner) Over(ctx context.Context) (all []*QuotaError, err error) {
	q := r.quotas
	if q.limits == nil {
		return nil, nil
	}
	q.mu.Lock()
	err = q.look(ctx)
	running, known := maps.Clone(q.places), slices.Collect(maps.Keys(q.days))
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for tenant := range running {
		known = append(known, tenant)
	}
	slices.Sort(known)
	for _, tenant := range slices.Compact(known) {
		limits := q.of(tenant)
		if n := running[tenant]; limits.RunsAtOnce > 0 && n > limits.RunsAtOnce {
			all = append(all, &QuotaError{Tenant: tenant, Limit: events.LimitTenantRuns, Value: float64(limits.RunsAtOnce), Used: float64(n)})
		}
		var met *QuotaError
		if err := q.exhausted(ctx, tenant, limits); errors.As(err, &met) {
			all = append(all, met)
		} else if err != nil {
			return nil, err
		}
	}
	return all, nil
}
