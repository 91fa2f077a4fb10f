package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultSyntax says what [ParseFaults] reads, for help texts.
const FaultSyntax = "comma-separated: 429|500..599|html|no-model|no-tools|cut|reset|error-event|empty|" +
	"broken-args|unknown-tool|wrong-task=RATE, stall|slow=RATE:DURATION, 429-above=N, rpm=N, tell-limits, retry-after=DURATION|none, key=SECRET; " +
	"RATE like 10% or 0.1"

// drawnKinds are the kinds that take nothing but a rate.
var drawnKinds = []FaultKind{
	FaultRateLimit, FaultHTML, FaultNoModel, FaultNoTools, FaultCut, FaultReset, FaultErrorEvent,
	FaultEmpty, FaultBrokenArgs, FaultUnknownTool, FaultWrongTask,
}

// ParseFaults reads faults from text such as "503=10%,429-above=8,cut=5%,stall=1%:2s"
// (see [FaultSyntax]). An empty text is no faults.
func ParseFaults(text string) (Faults, error) {
	var faults Faults
	total := 0.0
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if part == "tell-limits" {
			faults.TellLimits = true
			continue
		}
		name, value, found := strings.Cut(part, "=")
		if !found {
			return Faults{}, fmt.Errorf("fault %q: want NAME=VALUE; %s", part, FaultSyntax)
		}
		if err := faults.set(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return Faults{}, fmt.Errorf("fault %q: %w", part, err)
		}
	}
	for _, fault := range faults.Random {
		total += fault.Rate
	}
	if total > 1+1e-9 {
		return Faults{}, fmt.Errorf("faults %q: the rates add up to %.0f%%, at most 100%% of the requests can fail", text, total*100)
	}
	return faults, nil
}

func (f *Faults) set(name, value string) (err error) {
	switch {
	case name == "429-above":
		f.MaxInFlight, err = parsePositive(value)
	case name == "rpm":
		f.RequestsPerMinute, err = parsePositive(value)
	case name == "retry-after" && value == "none":
		f.RetryAfter = -1
	case name == "retry-after":
		f.RetryAfter, err = parseWait(value)
	case name == "key":
		f.Key = value
		if value == "" {
			err = fmt.Errorf("the key is empty")
		}
	case name == string(FaultStall), name == string(FaultSlow):
		rate, wait, found := strings.Cut(value, ":")
		if !found {
			return fmt.Errorf("want RATE:DURATION, like 1%%:2s")
		}
		fault := Fault{Kind: FaultKind(name)}
		if fault.For, err = parseWait(wait); err == nil {
			err = f.add(fault, rate)
		}
	case slices.Contains(drawnKinds, FaultKind(name)):
		err = f.add(Fault{Kind: FaultKind(name)}, value)
	default:
		status, convErr := strconv.Atoi(name)
		if convErr != nil || status < 500 || status > 599 {
			return fmt.Errorf("unknown; %s", FaultSyntax)
		}
		err = f.add(Fault{Kind: FaultStatus, Status: status}, value)
	}
	return err
}

func (f *Faults) add(fault Fault, rate string) (err error) {
	if fault.Rate, err = parseRate(rate); err != nil {
		return err
	}
	f.Random = append(f.Random, fault)
	return nil
}

func parseRate(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	rate, err := strconv.ParseFloat(digits, 64)
	if percent {
		rate /= 100
	}
	if err != nil || !(rate >= 0 && rate <= 1) {
		return 0, fmt.Errorf("rate %q: want a share like 10%% or 0.1", text)
	}
	return rate, nil
}

func parsePositive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: want a whole number from 1", text)
	}
	return n, nil
}

func parseWait(text string) (time.Duration, error) {
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 {
		return 0, fmt.Errorf("%q: want a time like 2s or 500ms", text)
	}
	return wait, nil
}
