package web

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/convene-run/convene/events"
)

// TenantLoad is what a process does for a tenant: the runs that it drives now, and since it
// began the model calls that were answered, with what was used.
type TenantLoad struct {
	Runs               int
	ModelCalls, Tokens int64
	CostUSD            float64
}

// otherTenants is the label of all tenants without one of their own.
const otherTenants = "other"

// tenantLabel is what /metrics calls a tenant. Its values are bounded, as identity providers
// may name any number of tenants.
func (c *Config) tenantLabel(tenant events.TenantID) string {
	tenant = tenant.OrLocal()
	if tenant == events.LocalTenant || c.TenantNames != nil && slices.Contains(c.TenantNames(), tenant) {
		return string(tenant)
	}
	return otherTenants
}

// tenantLoads tells /metrics what is done for each tenant.
type tenantLoads struct{ config *Config }

var tenantFigures = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(TenantLoad) float64
}{
	{tenantFigure("runs", "Runs that are driven here now, by tenant."), prometheus.GaugeValue, func(l TenantLoad) float64 { return float64(l.Runs) }},
	{tenantFigure("model_calls_total", "Model calls that were answered, by tenant."), prometheus.CounterValue, func(l TenantLoad) float64 { return float64(l.ModelCalls) }},
	{tenantFigure("tokens_total", "Tokens used, by tenant."), prometheus.CounterValue, func(l TenantLoad) float64 { return float64(l.Tokens) }},
	{tenantFigure("cost_usd_total", "US dollars spent on calls with a known price, by tenant."), prometheus.CounterValue, func(l TenantLoad) float64 { return l.CostUSD }},
}

func tenantFigure(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("convene_"+name, help, []string{"tenant"}, nil)
}

// Describe implements [prometheus.Collector].
func (tenantLoads) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range tenantFigures {
		descs <- f.desc
	}
}

// Collect implements [prometheus.Collector].
func (t tenantLoads) Collect(metrics chan<- prometheus.Metric) {
	sums := map[string]TenantLoad{}
	for tenant, load := range t.config.Loads() {
		label := t.config.tenantLabel(tenant)
		sum := sums[label]
		sum.Runs, sum.ModelCalls = sum.Runs+load.Runs, sum.ModelCalls+load.ModelCalls
		sum.Tokens, sum.CostUSD = sum.Tokens+load.Tokens, sum.CostUSD+load.CostUSD
		sums[label] = sum
	}
	for label, sum := range sums {
		for _, f := range tenantFigures {
			metrics <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(sum), label)
		}
	}
}
