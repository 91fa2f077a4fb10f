package web

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// seqParam is a seq that may be left out, which is not the same as 0.
type seqParam struct {
	Value events.Seq
	Set   bool
}

// Schema implements [huma.SchemaProvider].
func (seqParam) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(float64)}
}

// Receiver implements [huma.ParamWrapper].
func (p *seqParam) Receiver() reflect.Value { return reflect.ValueOf(p).Elem().Field(0) }

// OnParamSet implements [huma.ParamReactor].
func (p *seqParam) OnParamSet(set bool, _ any) { p.Set = set }

// Object is a JSON object that is passed on as it came.
type Object json.RawMessage

// Schema implements [huma.SchemaProvider].
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// UnmarshalJSON implements [json.Unmarshaler]: it keeps the bytes.
func (o *Object) UnmarshalJSON(text []byte) error {
	*o = append((*o)[:0], text...)
	return nil
}

type messagesInput struct {
	Thread events.ThreadID `path:"thread_id"`
	After  seqParam        `query:"after" doc:"Only messages with a seq above this one, the oldest of them. Without it: the newest."`
	Before seqParam        `query:"before" doc:"Only messages with a seq below this one, the newest of them. Not together with after."`
	Limit  int             `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Messages at most."`
	RestoreInput
}

type messagesOutput struct {
	Body struct {
		Messages []thread.Message `json:"messages" doc:"What the user and the agents who talk with the user said, oldest first. What agents say to each other is in the thread's events. They have placeholders such as [EMAIL_1] unless restore is asked for."`
		More     bool             `json:"more" doc:"Whether there are further ones: newer ones where after was given, else older ones."`
	}
}

type sayInput struct {
	Thread events.ThreadID `path:"thread_id" doc:"A UUID version 4 of the sender's choice. A thread that there is not is begun."`
	Body   struct {
		Content     string           `json:"content,omitempty" doc:"What the user says, at most 1,048,576 characters. May be left out beside approval." example:"I want to create a skill that sends Slack alerts"`
		ID          events.MessageID `json:"message_id,omitempty" maxLength:"255" doc:"Of the sender's choice. A message that is sent again under the same id counts once." example:"c0ffee-1"`
		UserID      string           `json:"user_id,omitempty" maxLength:"255" doc:"Who says it." example:"user-789"`
		ChannelType string           `json:"channel_type,omitempty" maxLength:"255" doc:"By what means it came." example:"web"`
		ChannelID   string           `json:"channel_id,omitempty" maxLength:"255" doc:"Where it came in." example:"support-widget"`
		Metadata    Object           `json:"metadata,omitempty" doc:"Of the sender's choice, at most 64 kB. Rules of the team may look at intent." example:"{\"intent\":\"skill_creation\"}"`
		Delivery    events.Delivery  `json:"delivery,omitempty" enum:"start,queue,steer,answer" doc:"What is done with it. Without it: it starts a run where none is under way, it answers where just one input is asked for, and else it is queued. start: refused unless it can start a run. steer: read by whoever has the conversation before its next turn. queue: answered after what is under way. answer: answers a request for input." example:"start"`
		InputID     events.InputID   `json:"input_id,omitempty" maxLength:"255" doc:"The request for input that it answers. May be left out where one is open." example:"i1"`
		Approval    *Decided         `json:"approval,omitempty" doc:"The decision on a call that waits for approval: it answers an input of the kind approval." example:"{\"decision\":\"deny\",\"reason\":\"Not before the review.\"}"`
		Team        string           `json:"team,omitempty" doc:"The team that answers a message which starts a run. Without it: that of the thread; in a new one the default team." example:"skill-builder"`
	}
}

// Decided is a person's decision on a call.
type Decided struct {
	Decision  events.Decision `json:"decision" enum:"approve,deny"`
	Arguments Object          `json:"arguments,omitempty" doc:"Arguments that the call is run with in place of the model's. They must fit the tool's schema." example:"{\"to\":\"ann@example.com\"}"`
	Reason    string          `json:"reason,omitempty" maxLength:"4000" doc:"Why, mostly why not. The model reads it."`
}

func (d *Decided) approval() *events.Approval {
	if d == nil {
		return nil
	}
	return &events.Approval{Decision: d.Decision, Arguments: json.RawMessage(d.Arguments), Reason: d.Reason}
}

type receiptOutput struct {
	Status int
	Body   Receipt
}

type handOffInput struct {
	Thread events.ThreadID `path:"thread_id"`
	Body   HandoffOrder
}

type handOffOutput struct {
	Body struct {
		ID events.HandoffID `json:"handoff_id" example:"h1"`
	}
}

type leaveInput struct {
	Thread  events.ThreadID  `path:"thread_id"`
	UserID  string           `query:"user_id" maxLength:"255" doc:"Who leaves. Kept in the log."`
	Handoff events.HandoffID `query:"handoff_id" maxLength:"255" doc:"The session that is left: the active one, or that of the person who answers beside the agents. Without it: the active one, else the person's." example:"h1"`
}

func (s *Server) registerMessages(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-messages", Method: http.MethodGet, Path: "/api/v1/threads/{thread_id}/messages",
		Summary: "What was said in a thread, a page at a time",
	}, s.listMessages)
	huma.Register(api, huma.Operation{
		OperationID: "send-message", Method: http.MethodPost, Path: "/api/v1/threads/{thread_id}/messages",
		Summary: "Say something in a thread",
		Description: "The message is durable when it is acknowledged. Answers come with the thread's events, as do the tokens of whoever speaks: " +
			"GET /ws?thread_id=… or GET /api/v1/threads/{thread_id}/events; messages marked lossy (event: live) have them, under the agent with speaks.",
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxBodyBytes,
		Errors:    []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests},
		Responses: map[string]*huma.Response{"200": receiptAgain(api)},
	}, s.say)
	huma.Register(api, huma.Operation{
		OperationID: "hand-off", Method: http.MethodPost, Path: "/api/v1/threads/{thread_id}/handoff",
		Summary:       "Hand the conversation over to a specialist, or to a person",
		DefaultStatus: http.StatusAccepted, Errors: []int{http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity},
	}, s.handOff)
	huma.Register(api, huma.Operation{
		OperationID: "leave-handoff", Method: http.MethodDelete, Path: "/api/v1/threads/{thread_id}/handoff",
		Summary:       "Leave the specialist who has the conversation: what was gathered is kept, and the facilitator answers",
		DefaultStatus: http.StatusAccepted, Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, s.leave)
}

// receiptAgain describes the answer to a message that the thread has already.
func receiptAgain(api huma.API) *huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Receipt](), true, "")
	return &huma.Response{
		Description: "The thread has a message of this id: nothing was done",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

func (s *Server) listMessages(ctx context.Context, in *messagesInput) (*messagesOutput, error) {
	if in.After.Set && in.Before.Set {
		return nil, s.apiError(refuse(http.StatusUnprocessableEntity, "after and before cannot be given together: a page goes one way"))
	}
	out := &messagesOutput{}
	err := s.foldThread(ctx, in.Thread, func(th *thread.Thread) error {
		if in.Restore && !callerOf(ctx).Allow(access.ContextRestore) {
			return callerOf(ctx).missing(access.ContextRestore)
		}
		out.page(th, in)
		if in.Restore {
			for i, m := range out.Body.Messages {
				out.Body.Messages[i] = th.Restored(m)
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	return out, nil
}

// page gives the messages that are asked for. They are copied: which run answers one is known
// later than its text.
func (out *messagesOutput) page(th *thread.Thread, in *messagesInput) {
	var further []thread.Message
	switch {
	case in.After.Set:
		out.Body.Messages = th.Messages(in.After.Value, in.Limit)
		further = th.Messages(lastSeq(out.Body.Messages, in.After.Value), 1)
	case in.Before.Set && in.Before.Value <= 1:
	default:
		out.Body.Messages = th.MessagesBefore(in.Before.Value, in.Limit)
		if len(out.Body.Messages) > 0 && out.Body.Messages[0].Seq > 1 {
			further = th.MessagesBefore(out.Body.Messages[0].Seq, 1)
		}
	}
	out.Body.Messages, out.Body.More = orEmpty(slices.Clone(out.Body.Messages)), len(further) > 0
}

// lastSeq is that of the last message, after where there is none.
func lastSeq(messages []thread.Message, after events.Seq) events.Seq {
	if len(messages) == 0 {
		return after
	}
	return messages[len(messages)-1].Seq
}

func (s *Server) say(ctx context.Context, in *sayInput) (*receiptOutput, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, s.apiError(err)
	}
	tip, err := s.tipOfAny(ctx, in.Thread)
	if err != nil {
		return nil, s.apiError(err)
	}
	c := callerOf(ctx)
	user, err := c.as(in.Body.UserID)
	if err != nil {
		return nil, s.apiError(err)
	}
	receipt, err := runs.Send(ctx, c.Identity, Said{
		Thread: in.Thread, New: tip.Run == "", Content: in.Body.Content, ID: in.Body.ID, UserID: user,
		ChannelType: in.Body.ChannelType, ChannelID: in.Body.ChannelID, Metadata: json.RawMessage(in.Body.Metadata),
		Delivery: in.Body.Delivery, InputID: in.Body.InputID, Approval: in.Body.Approval.approval(), Team: in.Body.Team,
	})
	if err != nil {
		return nil, s.apiError(err)
	}
	if receipt.Duplicate {
		return &receiptOutput{Status: http.StatusOK, Body: receipt}, nil
	}
	if receipt.Delivery == events.DeliveryStart {
		s.metrics.started.WithLabelValues(s.config.tenantLabel(c.Tenant)).Inc()
	}
	return &receiptOutput{Status: http.StatusAccepted, Body: receipt}, nil
}

func (s *Server) handOff(ctx context.Context, in *handOffInput) (*handOffOutput, error) {
	runs, err := s.steeredThread(ctx, in.Thread)
	if err != nil {
		return nil, s.apiError(err)
	}
	c := callerOf(ctx)
	if in.Body.UserID, err = c.as(in.Body.UserID); err != nil {
		return nil, s.apiError(err)
	}
	id, err := runs.HandOff(ctx, c.Identity, in.Thread, in.Body)
	if err != nil {
		return nil, s.apiError(err)
	}
	out := &handOffOutput{}
	out.Body.ID = id
	return out, nil
}

func (s *Server) leave(ctx context.Context, in *leaveInput) (*threadOutput, error) {
	c := callerOf(ctx)
	runs, err := s.steeredThread(ctx, in.Thread)
	user := ""
	if err == nil {
		user, err = c.as(in.UserID)
	}
	if err == nil {
		err = runs.Leave(ctx, c.Identity, in.Thread, in.Handoff, user)
	}
	if err != nil {
		return nil, s.apiError(err)
	}
	view, err := s.threadView(ctx, in.Thread)
	if err != nil {
		return nil, s.apiError(err)
	}
	return &threadOutput{view}, nil
}

// steeredThread gives what steers threads, if there is such a thread of runs.
func (s *Server) steeredThread(ctx context.Context, id events.ThreadID) (Runs, error) {
	runs, err := s.runs()
	if err != nil {
		return nil, err
	}
	tip, err := s.tip(ctx, id)
	if err == nil && tip.Run == "" {
		err = refuse(http.StatusNotFound, "thread %s is a batch's: nobody talks in it", id)
	}
	return runs, err
}
