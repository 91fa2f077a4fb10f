package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
)

// trafficFlags say what becomes of the calls between the agents and the models.
type trafficFlags struct {
	cache, record, replay string
}

func (f *trafficFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.cache, "cache", "", "directory that keeps replies: an equal request is answered from there, for nothing")
	flags.StringVar(&f.record, "record", "", "write every request and reply to this file, for --replay")
	flags.StringVar(&f.replay, "replay", "", "answer from a file of --record, without a model; a request it lacks fails")
	c.MarkFlagsMutuallyExclusive("record", "replay")
	c.MarkFlagsMutuallyExclusive("cache", "replay")
}

// traffic is what the flags made. The zero value changes nothing.
type traffic struct {
	// models are to be asked instead of others; caller makes the calls, nil for the
	// ordinary one.
	models   runner.Models
	caller   agent.Caller
	cache    *llm.Cache
	recorder *recordingModels
}

// open puts what the flags say between the agents and the models. The caller closes it.
func (f *trafficFlags) open(models runner.Models) (*traffic, error) {
	t := &traffic{models: models}
	var err error
	switch {
	case f.replay != "":
		t.models, err = openReplay(f.replay)
	case f.record != "":
		if t.recorder, err = newRecording(f.record, models); err == nil {
			t.models = t.recorder
		}
	}
	if err == nil && f.cache != "" {
		t.cache, err = llm.NewCache(f.cache, &llm.Caller{})
		t.caller = t.cache
	}
	return t, err
}

// close says what the cache did, and whether the recording is whole.
func (t *traffic) close(a *app) error {
	if t.cache != nil {
		hits, misses := t.cache.Counts()
		fmt.Fprintf(a.err, "cache: %d calls answered from it, %d made\n", hits, misses)
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
	recorders []*llmtest.Recorder
}

func newRecording(path string, models runner.Models) (*recordingModels, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return &recordingModels{models: models, file: file, endpoints: map[*llm.Endpoint]*llm.Endpoint{}}, nil
}

// Resolve implements [runner.Models].
func (m *recordingModels) Resolve(specs ...string) (llm.Route, error) {
	route, err := m.models.Resolve(specs...)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	recorded := make(llm.Route, len(route))
	for i, target := range route {
		e := m.endpoints[target.Endpoint]
		if e == nil {
			recorder := llmtest.Record(target.Endpoint.Client, m.file)
			e = &llm.Endpoint{Name: target.Endpoint.Name, Client: recorder, Limiter: target.Endpoint.Limiter}
			m.endpoints[target.Endpoint] = e
			m.recorders = append(m.recorders, recorder)
		}
		recorded[i] = llm.Target{Endpoint: e, Model: target.Model}
	}
	return recorded, nil
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
	player  *llmtest.Player
	path    string
	sources []llmtest.Source
}

func openReplay(path string) (*replayedModels, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--replay: %w", err)
	}
	defer func() { _ = file.Close() }()
	player, err := llmtest.Replay(file)
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
			return nil, fmt.Errorf("--replay %s has nothing of model %q", m.path, spec)
		}
		route = append(route, llm.Target{Endpoint: &llm.Endpoint{Name: source.Provider, Client: m.player}, Model: source.Model})
	}
	return route, nil
}
