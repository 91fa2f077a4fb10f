package main

import (
	"github.com/convene-run/convene/llm/endpoint"
	"github.com/convene-run/convene/runner"
)

// models gives the resolver of model names.
func (a *app) models(baseURL string) *endpoint.Resolver {
	return endpoint.New(endpoint.Config{Env: a.env, BaseURL: baseURL})
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
	_, err := d.models.Resolve(specs...)
	return err
}
