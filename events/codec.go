package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// wire is an envelope as it stands in JSON.
type wire struct {
	V        int             `json:"v"`
	Tenant   TenantID        `json:"tenant_id"`
	Thread   ThreadID        `json:"thread_id"`
	Run      RunID           `json:"run_id"`
	Seq      Seq             `json:"seq"`
	Time     time.Time       `json:"time"`
	Type     Kind            `json:"type"`
	Agent    AgentID         `json:"agent,omitempty"`
	Dispatch DispatchID      `json:"dispatch_id,omitempty"`
	By       *Actor          `json:"by,omitempty"`
	Data     json.RawMessage `json:"data"`
}

// Errors of the codec that callers branch on.
var (
	// ErrNewerVersion is for events of a version that this build does not know.
	ErrNewerVersion = errors.New("event was written by a newer version of convene")
	// ErrUnknownKind is for a kind that is not in the closed set.
	ErrUnknownKind = errors.New("unknown event kind")
)

// Decode reads an event of this or an older version. [ErrNewerVersion] and
// [ErrUnknownKind] say that it takes a newer build to read it.
func Decode(body []byte) (Envelope, error) {
	var e Envelope
	err := e.UnmarshalJSON(body)
	return e, err
}

// MarshalJSON writes the wire form: see [Encode], which is cheaper.
func (e Envelope) MarshalJSON() ([]byte, error) { return Encode(e) }

// UnmarshalJSON reads an envelope of this or an older version.
func (e *Envelope) UnmarshalJSON(body []byte) error {
	return e.unmarshal(body, decodeData)
}

// unmarshal is UnmarshalJSON with another way to decode the payload.
func (e *Envelope) unmarshal(body []byte, decode func(Kind, json.RawMessage) (Event, error)) error {
	var w wire
	if w.cut(body) && e.take(&w, decode) == nil {
		return nil
	}
	w = wire{}
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	return e.take(&w, decode)
}

// take makes the envelope that of the wire.
func (e *Envelope) take(w *wire, decode func(Kind, json.RawMessage) (Event, error)) error {
	if w.V > Version {
		return fmt.Errorf("decode event seq=%d version=%d: %w", w.Seq, w.V, ErrNewerVersion)
	}
	if w.V < 1 || w.Seq < 1 {
		return fmt.Errorf("decode event seq=%d version=%d: not an event envelope", w.Seq, w.V)
	}
	if _, known := decoders[w.Type]; !known {
		return fmt.Errorf("decode event seq=%d type=%q: %w", w.Seq, w.Type, ErrUnknownKind)
	}
	if year := w.Time.UTC().Year(); year < 0 || year > 9999 {
		return fmt.Errorf("decode event seq=%d type=%s: the time is outside the years 0 to 9999", w.Seq, w.Type)
	}
	if len(w.Data) == 0 || w.Data[0] != '{' {
		return fmt.Errorf("decode event seq=%d type=%s: data is not an object", w.Seq, w.Type)
	}
	data, err := decode(w.Type, w.Data)
	if err != nil {
		return fmt.Errorf("decode event seq=%d type=%s: %w", w.Seq, w.Type, err)
	}
	*e = Envelope{
		Tenant: w.Tenant, Thread: w.Thread, Run: w.Run, Seq: w.Seq, Time: w.Time.UTC(),
		Agent: w.Agent, Dispatch: w.Dispatch, By: w.By, Data: data,
	}
	return nil
}

func decodeData(kind Kind, body json.RawMessage) (Event, error) { return decoders[kind](body) }

func decoder[T Event](body json.RawMessage) (Event, error) {
	var event T
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	return event, nil
}

// decoders is the closed set of kinds. A released payload that changes shape gets
// its older versions upcast here, before any fold sees them.
var decoders = map[Kind]func(json.RawMessage) (Event, error){
	KindWorkflowStarted:      decoder[WorkflowStarted],
	KindWorkflowFinished:     decoder[WorkflowFinished],
	KindFinalAnswer:          decoder[FinalAnswer],
	KindError:                decoder[Error],
	KindCancelRequested:      decoder[CancelRequested],
	KindRunCancelled:         decoder[RunCancelled],
	KindRunSuspended:         decoder[RunSuspended],
	KindRunResumed:           decoder[RunResumed],
	KindOutageBegan:          decoder[OutageBegan],
	KindOutageEnded:          decoder[OutageEnded],
	KindTasksCreated:         decoder[TasksCreated],
	KindTaskUpdated:          decoder[TaskUpdated],
	KindDocumentUpdated:      decoder[DocumentUpdated],
	KindEvidenceRefused:      decoder[EvidenceRefused],
	KindAgentStarted:         decoder[AgentStarted],
	KindAgentMessage:         decoder[AgentMessage],
	KindAgentFinished:        decoder[AgentFinished],
	KindFacilitatorMessage:   decoder[FacilitatorMessage],
	KindDispatchRefused:      decoder[DispatchRefused],
	KindModelCalled:          decoder[ModelCalled],
	KindModelCallFailed:      decoder[ModelCallFailed],
	KindToolStarted:          decoder[ToolStarted],
	KindToolCall:             decoder[ToolCallDone],
	KindUserMessage:          decoder[UserMessage],
	KindHistoryCompacted:     decoder[HistoryCompacted],
	KindWarning:              decoder[Warning],
	KindLimitReached:         decoder[LimitReached],
	KindBatchStarted:         decoder[BatchStarted],
	KindBatchProgress:        decoder[BatchProgress],
	KindBatchRowRejected:     decoder[BatchRowRejected],
	KindBatchEnded:           decoder[BatchEnded],
	KindMessageRouted:        decoder[MessageRouted],
	KindHandoffRequested:     decoder[HandoffRequested],
	KindHandoffAccepted:      decoder[HandoffAccepted],
	KindHandoffRejected:      decoder[HandoffRejected],
	KindHandoffExitRequested: decoder[HandoffExitRequested],
	KindHandoffReturned:      decoder[HandoffReturned],
	KindWorkflowStateChanged: decoder[WorkflowStateChanged],
	KindHandoffResumed:       decoder[HandoffResumed],
	KindInputRequested:       decoder[InputRequested],
	KindPhaseChanged:         decoder[PhaseChanged],
	KindTransitionRolledBack: decoder[TransitionRolledBack],
	KindPermissionDenied:     decoder[PermissionDenied],
	KindValuesReplaced:       decoder[ValuesReplaced],
	KindArtifactCreated:      decoder[ArtifactCreated],
	KindAudited:              decoder[Audited],
}

// Kinds lists every kind of event, sorted by name.
func Kinds() []Kind { return slices.Sorted(maps.Keys(decoders)) }

// EncodedTime gives the time of an event in the form of [Encode] without decoding it; zero
// where there is none.
func EncodedTime(body []byte) (t time.Time) {
	_, rest, _ := bytes.Cut(body, []byte(`,"time":"`)) // as in EncodedKind
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	if t.UnmarshalText(text) != nil {
		return time.Time{}
	}
	return t
}

// EncodedKind gives the kind of an event in the form of [Encode] without decoding
// it; "" where there is none.
func EncodedKind(body []byte) Kind {
	// No earlier member can hold these bytes: quotes inside strings are escaped.
	_, rest, _ := bytes.Cut(body, []byte(`,"type":"`))
	kind, _, _ := bytes.Cut(rest, []byte{'"'})
	return Kind(kind)
}
