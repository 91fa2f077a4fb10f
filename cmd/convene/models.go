package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
)

// models makes the resolver of model names.
func (a *app) models(baseURL string) *endpoint.Resolver { return a.resolver(baseURL, nil) }

// watchedModels makes the resolver of a command whose runs somebody watches: on a terminal
// the simulated model takes its time.
func (a *app) watchedModels(baseURL string) *endpoint.Resolver {
	if baseURL != "" || !a.canDraw(a.err) { // a client of one's own would come before the address
		return a.models(baseURL)
	}
	return a.resolver(baseURL, map[string]llm.Client{sim.Provider: sim.New(watchedPace)})
}

// watchedPace has a run of the team general take some eight seconds: long enough to see the
// plan, the parallel work and the document grow.
var watchedPace = sim.Options{FirstToken: 250 * time.Millisecond, PerChunk: 18 * time.Millisecond}

func (a *app) resolver(baseURL string, custom map[string]llm.Client) *endpoint.Resolver {
	limits := a.flags.limits
	r := endpoint.New(endpoint.Config{
		Custom: custom,
		Env:    a.env, Default: a.defaultModel(), Providers: a.config.Providers(), BaseURL: baseURL, API: events.API(a.flags.api),
		RequestsPerMinute: int(limits.requests), TokensPerMinute: int(limits.tokens), Concurrency: int(limits.inFlight),
	})
	a.endpoints = r.Endpoints
	return r
}

// defaultModel is the one of the configuration, which the environment comes before.
func (a *app) defaultModel() string {
	if model := a.env("CONVENE_MODEL"); model != "" {
		return model
	}
	return a.config.Model()
}

// check finds out before anything is made whether the job can be started.
func (d *driver) check(job runner.Job) error {
	if err := d.checkModels(job); err != nil {
		return err
	}
	table, err := d.app.prices()
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{Log: events.NewMemory(), Models: d.models, Prices: table, Toolbox: d.app.toolbox}) // nothing is written
	if err != nil {
		return err
	}
	_, err = r.Check(job)
	return err
}

// sayTiers says which of the wanted service tiers are left out because a provider has no
// such tier. A run says so itself.
func (d *driver) sayTiers(job runner.Job) error {
	said := map[string]bool{}
	say := func(model string, tier llm.Tier) error {
		if job.Model != "" {
			model = job.Model
		}
		if tier == "" || tier == llm.TierStandard {
			return nil
		}
		route, err := d.models.Resolve(model)
		for _, target := range route {
			provider, tells := target.Endpoint.Client.(interface{ HasTier(tier llm.Tier) bool })
			line := fmt.Sprintf("%s has no tier %s: its calls are ordinary ones, at the ordinary price", target.Endpoint.Name, tier)
			lacks := target.Endpoint.Simulated || tells && !provider.HasTier(tier)
			if lacks && !said[line] {
				said[line] = true
				d.app.say(line)
			}
		}
		return err
	}
	err := say(job.Team.Facilitator.Model, job.Team.Facilitator.Tier)
	for i := range job.Team.Specialists {
		s := &job.Team.Specialists[i]
		err = errors.Join(err, say(s.Model, s.Tier))
	}
	return err
}

// checkModels finds out before anything is made whether the job's models can be
// asked.
func (d *driver) checkModels(job runner.Job) error {
	specs := []string{job.Model}
	if job.Model == "" {
		specs = []string{job.Team.Facilitator.Model}
		for _, s := range job.Team.Specialists {
			specs = append(specs, s.Model)
		}
	}
	route, err := d.models.Resolve(specs...)
	switch d.models.(type) {
	case *replayedModels, *scriptModels: // no model is asked
		return err
	}
	if err == nil && d.app.defaultModel() == "" && !slices.ContainsFunc(specs, func(spec string) bool { return spec != "" }) {
		d.app.say(fmt.Sprintf("no model is set: using %s/%s; --model sets another", route[0].Endpoint.Name, route[0].Model))
	}
	return err
}
