package otel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/convene-run/convene/events"
)

// A signal is a kind of thing that is exported, as variables name it.
type signal string

const (
	traceSignal  signal = "TRACES"
	metricSignal signal = "METRICS"
)

// Enabled reports whether the variables say where anything is to be exported to.
func Enabled(env func(string) string) bool {
	return traceSignal.wanted(env) || metricSignal.wanted(env)
}

// wanted reports whether the signal has an endpoint, and is not switched off.
func (s signal) wanted(env func(string) string) bool {
	endpoint := cmp.Or(env("OTEL_EXPORTER_OTLP_"+string(s)+"_ENDPOINT"), env("OTEL_EXPORTER_OTLP_ENDPOINT"))
	return endpoint != "" && !isTrue(env("OTEL_SDK_DISABLED")) && env("OTEL_"+string(s)+"_EXPORTER") != "none"
}

func isTrue(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// grpc reports which of the protocols is to be used.
func (s signal) grpc(env func(string) string) (bool, error) {
	name := "OTEL_EXPORTER_OTLP_" + string(s) + "_PROTOCOL"
	if env(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := env(name); protocol {
	case "", "http/protobuf":
		return false, nil
	case "grpc":
		return true, nil
	default:
		return false, fmt.Errorf("%s is %q; write http/protobuf or grpc", name, protocol)
	}
}

// New gives an exporter of what the variables ask for: see [Enabled]. It connects to nothing
// yet. The error says which variable cannot be understood.
func New(ctx context.Context, config Config) (*Exporter, error) {
	if config.Log == nil {
		return nil, errors.New("new exporter: Log is required")
	}
	if config.Env == nil {
		config.Env = os.Getenv
	}
	if config.OnError == nil {
		config.OnError = func(error) {}
	}
	about, err := describe(ctx, config.Version)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e := &Exporter{log: config.Log, content: isTrue(config.Env(captureContent)), runs: map[events.RunID]*traced{}}
	if err := e.addTraces(ctx, config, about); err != nil {
		return nil, err
	}
	return e, e.addMetrics(ctx, config, about)
}

// describe says what exports. Each process is an instance of its own, since each counts for
// itself.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "convene"), attribute.String("service.version", version), attribute.String("service.instance.id", uuid.NewString()),
	), resource.WithFromEnv())
}

func (e *Exporter) addTraces(ctx context.Context, config Config, about *resource.Resource) error {
	e.tracer = sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(givenIDs{})).Tracer(scope)
	if !traceSignal.wanted(config.Env) {
		return nil
	}
	grpc, err := traceSignal.grpc(config.Env)
	if err != nil {
		return err
	}
	var to sdktrace.SpanExporter
	if grpc {
		to, err = otlptracegrpc.New(ctx)
	} else {
		to, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_*: %w", err)
	}
	e.traces = newTraceSink(&spanExporter{SpanExporter: to, troubles: troubles{of: "traces", told: config.OnError}}, about)
	return nil
}

func (e *Exporter) addMetrics(ctx context.Context, config Config, about *resource.Resource) error {
	if !metricSignal.wanted(config.Env) {
		e.meters = sdkmetric.NewMeterProvider()
		return nil
	}
	grpc, err := metricSignal.grpc(config.Env)
	if err != nil {
		return err
	}
	var to sdkmetric.Exporter
	if grpc {
		to, err = otlpmetricgrpc.New(ctx)
	} else {
		to, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_*: %w", err)
	}
	reader := sdkmetric.NewPeriodicReader(&metricExporter{Exporter: to, troubles: troubles{of: "metrics", told: config.OnError}})
	e.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(reader))
	e.metrics, err = newMetrics(e.meters.Meter(scope))
	return err
}
