package events

import (
	"strconv"
	"time"
)

// AppendJSON appends the summary as JSON, without HTML escapes, for what keeps it beside the
// log: that is written several times in a run. A time that JSON cannot hold is an error.
func (s *RunSummary) AppendJSON(dst []byte) ([]byte, error) {
	enc := encoders.Get().(*encoder)
	defer enc.free()
	if len(s.Asks) > 0 || s.Damaged != nil {
		body, err := enc.value(s)
		return append(dst, body...), err
	}
	dst = enc.text(append(dst, `{"tenant_id":`...), string(s.Tenant))
	dst = enc.text(append(dst, `,"thread_id":`...), string(s.Thread))
	dst = enc.text(append(dst, `,"run_id":`...), string(s.Run))
	dst = enc.textIf(dst, `,"user_id":`, s.UserID)
	dst = enc.text(append(dst, `,"team":`...), s.Team)
	dst = enc.text(append(dst, `,"status":`...), string(s.Status))
	dst = enc.textIf(dst, `,"reason":`, s.Reason)
	dst = enc.textIf(dst, `,"limit":`, string(s.Limit))
	dst = appendTrueIf(dst, `,"solo":`, s.Solo)
	dst, err := enc.valueIf(dst, `,"models":`, len(s.Models) > 0, s.Models)
	if err != nil {
		return nil, err
	}
	if dst, err = s.appendTimes(dst); err != nil {
		return nil, err
	}
	dst = appendTrueIf(dst, `,"simulated":`, s.Simulated)
	if dst, err = enc.valueIf(dst, `,"batch":`, s.Batch != nil, s.Batch); err != nil {
		return nil, err
	}
	dst = enc.text(append(dst, `,"request":`...), s.Request)
	dst = enc.textIf(dst, `,"answer":`, s.Answer)
	dst = strconv.AppendInt(append(dst, `,"tasks":`...), int64(s.Tasks), 10)
	dst = strconv.AppendInt(append(dst, `,"finished_tasks":`...), int64(s.FinishedTasks), 10)
	dst = appendUsage(append(dst, `,"usage":`...), &s.Usage)
	if dst, err = enc.cost(append(dst, `,"cost_usd":`...), s.CostUSD); err != nil {
		return nil, err
	}
	dst = strconv.AppendInt(append(dst, `,"model_calls":`...), int64(s.ModelCalls), 10)
	dst = strconv.AppendInt(append(dst, `,"first_seq":`...), int64(s.FirstSeq), 10)
	dst = strconv.AppendInt(append(dst, `,"last_seq":`...), int64(s.LastSeq), 10)
	return append(dst, '}'), nil
}

func (s *RunSummary) appendTimes(dst []byte) (_ []byte, err error) {
	if dst, err = appendTime(append(dst, `,"started_at":`...), s.Start); err != nil {
		return nil, err
	}
	if dst, err = appendTime(append(dst, `,"updated_at":`...), s.Updated); err != nil {
		return nil, err
	}
	dst = appendNumberIf(dst, `,"driven_ms":`, s.DrivenMS)
	if s.DrivenTo == nil {
		return dst, nil
	}
	return appendTime(append(dst, `,"driven_to":`...), *s.DrivenTo)
}

func appendTime(dst []byte, t time.Time) ([]byte, error) {
	dst, err := t.AppendText(append(dst, '"'))
	return append(dst, '"'), err
}

// valueIf appends a member if it is set.
func (enc *encoder) valueIf(dst []byte, name string, set bool, value any) ([]byte, error) {
	if !set {
		return dst, nil
	}
	body, err := enc.value(value)
	return append(append(dst, name...), body...), err
}

// appendTrueIf appends a member if it is true.
func appendTrueIf(dst []byte, name string, set bool) []byte {
	if set {
		return append(append(dst, name...), `true`...)
	}
	return dst
}

// cost appends what is null where it is not known.
func (enc *encoder) cost(dst []byte, usd *float64) ([]byte, error) {
	if usd == nil {
		return append(dst, `null`...), nil
	}
	body, err := enc.value(*usd)
	return append(dst, body...), err
}
