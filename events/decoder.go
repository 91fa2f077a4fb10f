package events

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Decoder is [Decode] for many events, best those of one thread in order: where a run has
// the configuration of the run before it, which is most of what such a run begins with, that
// is neither read again nor held twice. The zero Decoder is ready. It is not safe for
// concurrent use.
type Decoder struct {
	// config is the newest configuration.
	config json.RawMessage
}

// Decode reads an event as [Decode] does.
func (d *Decoder) Decode(body []byte) (e Envelope, err error) {
	err = e.unmarshal(body, d.data)
	return e, err
}

func (d *Decoder) data(kind Kind, body json.RawMessage) (Event, error) {
	if kind != KindWorkflowStarted {
		return decodeData(kind, body)
	}
	if event, ok := d.again(body); ok {
		return event, nil
	}
	data, err := decodeData(kind, body)
	if started, ok := data.(WorkflowStarted); ok && len(started.Config) > 0 {
		d.config = started.Config
	}
	return data, err
}

const configMember = `"config":`

// knownConfig stands for a configuration that is known already.
const knownConfig = `"(the configuration of the run before)"`

// again decodes the start of a run that has the known configuration. Whatever else holds
// the same text is not taken for it.
func (d *Decoder) again(body json.RawMessage) (started WorkflowStarted, ok bool) {
	if d.config == nil {
		return started, false
	}
	before, behind, _ := bytes.Cut(body, []byte(configMember))
	behind, found := bytes.CutPrefix(behind, d.config)
	if !found || bytes.Contains(before, []byte(knownConfig)) || bytes.Contains(behind, []byte(knownConfig)) {
		return started, false
	}
	short := slices.Concat(before, []byte(configMember+knownConfig), behind)
	if json.Unmarshal(short, &started) != nil || string(started.Config) != knownConfig {
		return WorkflowStarted{}, false
	}
	started.Config = d.config
	return started, true
}
