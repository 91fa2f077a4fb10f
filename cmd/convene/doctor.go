package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/doctor"
	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/llm/endpoint"
)

func newDoctorCommand(a *app) *cobra.Command {
	var model, baseURL string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configured endpoint and say what to fix",
		Long: `Check the configured endpoint with a few short calls: whether it can be reached, accepts
the key, has the model, streams and reports usage; which APIs it offers; whether the
model calls tools, several at once, and refrains when told to; whether reasoning effort
can be set and repeated input is cached; and how large the context window is. ✓ means
fine, ! works with limitations, ✗ must be fixed; the exit code is then 1.

A model is named as provider/name. Providers are ` + strings.Join(endpoint.Providers(), ", ") + `;
their keys come from the variables that the providers' own tools read, such as
OPENAI_API_KEY. The configuration adds others: see convene config --help.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), model, baseURL) },
	}
	c.Flags().StringVar(&model, "model", "", "model to try, as provider/name (default: CONVENE_MODEL, or the configuration's)")
	c.Flags().StringVar(&baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	return c
}

func (a *app) doctor(ctx context.Context, model, baseURL string) error {
	route, err := a.models(baseURL).Resolve(model)
	if err != nil {
		return usage(err)
	}
	for _, f := range a.config.Files() {
		if f.Exists {
			fmt.Fprintf(a.out, "configured by %s\n", termview.Line(f.Path))
		}
	}
	failed := false
	for _, target := range route {
		fmt.Fprintf(a.out, "%s, model %s\n", termview.Line(target.Endpoint.Name), termview.Line(target.Model))
		for finding := range doctor.Examine(ctx, target) {
			failed = failed || finding.Mark == doctor.Failed
			a.printFinding(finding)
		}
	}
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) printFinding(f doctor.Finding) {
	line := fmt.Sprintf("  %s %s", f.Mark, f.Check)
	if f.Detail != "" {
		line += ": " + termview.Line(f.Detail)
	}
	fmt.Fprintln(a.out, line)
	if f.Fix != "" {
		fmt.Fprintln(a.out, "    "+f.Fix)
	}
}
