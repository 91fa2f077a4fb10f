package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// Encode gives the wire form of an event, the one that logs keep and that leaves
// in exports and streams: one line of JSON without a newline, members in fixed
// order, no HTML escapes. Equal envelopes give equal bytes.
func Encode(e Envelope) ([]byte, error) { return AppendEncoded(nil, e) }

// AppendEncoded appends the form of [Encode] to dst. Where it fails dst is to be used on as
// it was.
func AppendEncoded(dst []byte, e Envelope) ([]byte, error) {
	if e.Data == nil {
		return nil, fmt.Errorf("encode event thread=%s seq=%d: no data", e.Thread, e.Seq)
	}
	enc := encoders.Get().(*encoder)
	defer enc.free()
	dst, err := enc.append(dst, &e)
	if err != nil {
		return nil, fmt.Errorf("encode event thread=%s seq=%d type=%s: %w", e.Thread, e.Seq, e.Data.Kind(), err)
	}
	return dst, nil
}

// encoder writes values as JSON into a buffer of its own.
type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// encoders keeps encoders between calls of [AppendEncoded].
var encoders = sync.Pool{New: func() any {
	enc := &encoder{}
	enc.json = json.NewEncoder(&enc.buf)
	enc.json.SetEscapeHTML(false)
	return enc
}}

// maxPooledBytes keeps a rare huge event from pinning its buffer for good.
const maxPooledBytes = 64 << 10

func (enc *encoder) free() {
	if enc.buf.Cap() <= maxPooledBytes {
		encoders.Put(enc)
	}
}

// append writes the members in the order of [wire].
func (enc *encoder) append(dst []byte, e *Envelope) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `{"v":`...), Version, 10)
	dst = enc.text(append(dst, `,"tenant_id":`...), string(e.Tenant))
	dst = enc.text(append(dst, `,"thread_id":`...), string(e.Thread))
	dst = enc.text(append(dst, `,"run_id":`...), string(e.Run))
	dst = strconv.AppendInt(append(dst, `,"seq":`...), int64(e.Seq), 10)
	dst, err := e.Time.UTC().AppendText(append(dst, `,"time":"`...))
	if err != nil {
		return nil, err
	}
	dst = enc.text(append(dst, `","type":`...), string(e.Data.Kind()))
	if e.Agent != "" {
		dst = enc.text(append(dst, `,"agent":`...), string(e.Agent))
	}
	if e.Dispatch != "" {
		dst = enc.text(append(dst, `,"dispatch_id":`...), string(e.Dispatch))
	}
	if e.By != nil {
		by, err := enc.value(e.By)
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, byMember...), by...)
	}
	if dst, err = enc.data(append(dst, `,"data":`...), e.Data); err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// value gives a value as JSON, until the next call.
func (enc *encoder) value(v any) ([]byte, error) {
	enc.buf.Reset()
	if err := enc.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(enc.buf.Bytes(), []byte{'\n'}), nil
}

// data appends a payload.
func (enc *encoder) data(dst []byte, data Event) ([]byte, error) {
	if written, ok := enc.frequent(dst, data); ok {
		return written, nil
	}
	started, ok := data.(WorkflowStarted)
	if ok && len(started.Config) >= minCompacted {
		if config, err := compacted(started.Config); err == nil {
			return enc.started(dst, started, config)
		}
	}
	body, err := enc.value(data)
	return append(dst, body...), err
}

// configMark stands for the configuration while the rest of an event is encoded.
const configMark = `"config":6.02214076e-123`

// started appends the beginning of a run, with its configuration as it is: it is most of the
// event, and the same for all runs of a team.
func (enc *encoder) started(dst []byte, started WorkflowStarted, config []byte) ([]byte, error) {
	full := started
	started.Config = json.RawMessage(configMark[len(`"config":`):])
	body, err := enc.value(started)
	if err != nil {
		return nil, err
	}
	mark := []byte(configMark)
	if bytes.Count(body, mark) != 1 { // something else of the event says the same
		body, err = enc.value(full)
		return append(dst, body...), err
	}
	before, behind, _ := bytes.Cut(body, mark)
	dst = append(append(dst, before...), `"config":`...)
	return append(append(dst, config...), behind...), nil
}

// minCompacted is the size from which the compact form of a configuration is remembered.
const minCompacted = 1 << 10

// lastCompacted is the configuration that was encoded last.
var lastCompacted atomic.Pointer[struct{ text, compact []byte }]

// compacted gives the compact form of a configuration, which does not change once it is in an
// event. Runs of a team have the same, so that one is remembered.
func compacted(text []byte) ([]byte, error) {
	if last := lastCompacted.Load(); last != nil && len(last.text) == len(text) && &last.text[0] == &text[0] {
		return last.compact, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, text); err != nil {
		return nil, err
	}
	lastCompacted.Store(&struct{ text, compact []byte }{text, buf.Bytes()})
	return buf.Bytes(), nil
}
