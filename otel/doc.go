// Package otel exports runs to OpenTelemetry: a trace for each run, with spans of its agents,
// model calls and tools, and metrics of what model calls used, named by the GenAI semantic
// conventions.
//
// It follows the log and takes no part in a run: spans are made from events, with ids that
// are hashes of the run's id and times that are those of the events, so that the same log
// always gives the same trace. What people, agents and models wrote is left out, unless
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.
//
// Where to, and all else, is said by the standard variables, OTEL_EXPORTER_OTLP_ENDPOINT
// first of all; without an endpoint there is nothing to do:
//
//	if otel.Enabled(os.Getenv) {
//		exporter, err := otel.New(ctx, otel.Config{Log: log})
//		if err != nil {
//			return err
//		}
//		defer exporter.Shutdown(ctx)
//		config.Hooks = runner.Hooks{OnEvent: exporter.OnEvent, Delay: time.Second}
//	}
//
// A collector that is down is nobody's business but its own: what does not fit into the
// SDK's bounded queue is dropped.
package otel
