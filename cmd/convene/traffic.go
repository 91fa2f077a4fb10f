package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/internal/sim"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/recording"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// trafficFlags say what becomes of the calls between the agents and the models.
type trafficFlags struct {
	cache, record, replay string
}

func (f *trafficFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.cache, "cache", "", "directory for cached replies: an identical request is answered from it at no cost")
	flags.StringVar(&f.record, "record", "", "write every request and reply to this file, for --replay")
	flags.StringVar(&f.replay, "replay", "", "answer from a file written by --record, or from a script (.yaml) of the model's side, without a model; a request missing from it fails")
	c.MarkFlagsMutuallyExclusive("record", "replay")
	c.MarkFlagsMutuallyExclusive("cache", "replay")
}

// traffic is what the flags made. The zero value changes nothing.
type traffic struct {
	// models are to be asked instead of others; caller makes the calls, nil for the
	// ordinary one.
	models   runner.Models
	caller   loop.Caller
	cache    *llm.Cache
	recorder *recordingModels
}

// open puts what the flags say between the agents and the models. The caller closes it.
func (f *trafficFlags) open(a *app, models runner.Models) (*traffic, error) {
	t := &traffic{models: models}
	var err error
	switch {
	case f.replay != "":
		t.models, err = f.openReplay()
	case f.record != "":
		if t.recorder, err = newRecording(f.record, models); err == nil {
			t.models = t.recorder
		}
	}
	if err != nil || f.cache == "" {
		return t, err
	}
	table, err := a.prices()
	if err != nil {
		return nil, err
	}
	t.cache, err = llm.NewCache(f.cache, &llm.Caller{Prices: table})
	if err != nil {
		return nil, fmt.Errorf("--cache %s cannot be used: %w", f.cache, cause(err))
	}
	t.caller = t.cache
	return t, nil
}

// close says what the cache did, and whether the recording is whole.
func (t *traffic) close(a *app) error {
	if t.cache != nil {
		hits, misses := t.cache.Counts()
		fmt.Fprintf(a.err, "cache: %d calls answered from it, %d sent\n", hits, misses)
	}
	if t.recorder != nil {
		return t.recorder.close()
	}
	return nil
}

// recordingModels records the traffic of the models that it resolves.
type recordingModels struct {
	models runner.Models
	file   *os.File

	mu        sync.Mutex // guards what follows
	endpoints map[*llm.Endpoint]*llm.Endpoint
	recorders []*recording.Recorder
}

func newRecording(path string, models runner.Models) (*recordingModels, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record %s cannot be written: %w", path, cause(err))
	}
	return &recordingModels{models: models, file: file, endpoints: map[*llm.Endpoint]*llm.Endpoint{}}, nil
}

// Resolve implements [runner.Models].
func (m *recordingModels) Resolve(specs ...string) (llm.Route, error) {
	route, err := m.models.Resolve(specs...)
	return m.recorded(route), err
}

// ResolveAt implements [runner.LoggedModels].
func (m *recordingModels) ResolveAt(logged []llm.LoggedTarget, specs ...string) (llm.Route, error) {
	models, ok := m.models.(runner.LoggedModels)
	if !ok {
		return m.Resolve(specs...)
	}
	route, err := models.ResolveAt(logged, specs...)
	return m.recorded(route), err
}

// recorded is the route with a recorder before every endpoint.
func (m *recordingModels) recorded(route llm.Route) llm.Route {
	m.mu.Lock()
	defer m.mu.Unlock()
	targets := make(llm.Route, len(route))
	for i, target := range route {
		e := m.endpoints[target.Endpoint]
		if e == nil {
			recorder := recording.Record(target.Endpoint.Client, m.file)
			recorded := *target.Endpoint
			recorded.Client = recorder
			e = &recorded
			m.endpoints[target.Endpoint] = e
			m.recorders = append(m.recorders, recorder)
		}
		targets[i] = llm.Target{Endpoint: e, Model: target.Model}
	}
	return targets
}

func (m *recordingModels) close() error {
	var errs []error
	for _, r := range m.recorders {
		errs = append(errs, r.Err())
	}
	return errors.Join(append(errs, m.file.Close())...)
}

// replayedModels answers every model from a recording.
type replayedModels struct {
	player  *recording.Player
	path    string
	sources []recording.Source
}

// scriptModels answers every model from a script, and says that it simulates.
type scriptModels struct{ endpoint *llm.Endpoint }

// openReplay tells a script from a recording by its name.
func (f *trafficFlags) openReplay() (runner.Models, error) {
	if ext := filepath.Ext(f.replay); ext != ".yaml" && ext != ".yml" {
		return openRecording(f.replay)
	}
	source, err := os.ReadFile(f.replay)
	if err != nil {
		return nil, fmt.Errorf("--replay %w", unreadable(f.replay, err))
	}
	script := &recording.Script{}
	file := team.ReadYAML(f.replay, source, script)
	script.Check(func(place, message string) { file.Problem(place, "%s", message) })
	if err := file.Err(); err != nil {
		return nil, err
	}
	return &scriptModels{&llm.Endpoint{Name: recording.ScriptProvider, Simulated: true, Client: script}}, nil
}

// Resolve implements [runner.Models].
func (m *scriptModels) Resolve(specs ...string) (llm.Route, error) {
	return llm.Route{{Endpoint: m.endpoint, Model: recording.ScriptModel}}, nil
}

func openRecording(path string) (*replayedModels, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--replay %w", unreadable(path, err))
	}
	defer func() { _ = file.Close() }()
	player, err := recording.Replay(file)
	if err != nil {
		return nil, fmt.Errorf("--replay %s: %w", path, err)
	}
	m := &replayedModels{player: player, path: path, sources: player.Sources()}
	if len(m.sources) == 0 {
		return nil, fmt.Errorf("--replay %s: nothing was recorded there", path)
	}
	return m, nil
}

// Resolve implements [runner.Models]. A model is found by its name behind the
// provider's; the default is the first that was recorded.
func (m *replayedModels) Resolve(specs ...string) (llm.Route, error) {
	var route llm.Route
	for _, spec := range specs {
		found := spec == ""
		source := m.sources[0]
		for _, s := range m.sources {
			if !found && (spec == s.Model || strings.HasSuffix(spec, "/"+s.Model) || spec == s.Provider) {
				source, found = s, true
			}
		}
		if !found {
			return nil, fmt.Errorf("--replay %s has nothing for model %q", m.path, spec)
		}
		route = append(route, llm.Target{Endpoint: &llm.Endpoint{Name: source.Provider, Simulated: source.Provider == sim.Provider, Client: m.player}, Model: source.Model})
	}
	return route, nil
}
