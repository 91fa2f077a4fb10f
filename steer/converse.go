package steer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/convene-run/convene/access"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/web"
)

// Send implements [web.Runs]. A message that takes up no further run is taken even if
// [Config.MaxRuns] are under way.
func (s *Runs) Send(ctx context.Context, by access.Identity, said web.Said) (web.Receipt, error) {
	if chars.Over(said.Content, runner.MaxRequestChars) {
		return web.Receipt{}, &web.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf(
			"the message has %d characters; at most %d are taken", chars.Count(said.Content), runner.MaxRequestChars)}
	}
	job := runner.Job{
		Tenant: by.Tenant, Thread: said.Thread, Request: said.Content, OnInput: s.config.OnInput, Approve: s.config.Approve,
		Message: &runner.Message{
			ID: said.ID, UserID: said.UserID, ChannelType: said.ChannelType, ChannelID: said.ChannelID,
			Metadata: said.Metadata, Delivery: said.Delivery, InputID: said.InputID, Approval: said.Approval,
			Grants: by.Grants, Actor: by.Actor(),
		},
	}
	if said.Team != "" || said.New {
		t, err := s.team(said.Team)
		if err != nil {
			return web.Receipt{}, err
		}
		job.Team, job.Model = t, s.config.Model
	}
	var receipt runner.Receipt
	err := s.converse(events.ThreadKey{Tenant: by.Tenant, Thread: said.Thread}, func() (err error) {
		receipt, err = s.config.Runner.Send(context.WithoutCancel(ctx), job)
		return err
	})
	if err != nil {
		return web.Receipt{}, err
	}
	answer := web.Receipt{
		Thread: said.Thread, Message: receipt.Message, Delivery: receipt.Delivery, Run: receipt.RunID,
		Place: receipt.Place, Duplicate: receipt.Duplicate,
	}
	if receipt.Stalled != nil {
		answer.Stalled = stalled(receipt.Stalled)
	}
	return answer, nil
}

// stalled says why nobody takes a message up, without what is the operator's to know.
func stalled(err error) string {
	var store *events.StoreError
	if errors.As(err, &store) {
		return store.Told()
	}
	return err.Error()
}

// HandOff implements [web.Runs].
func (s *Runs) HandOff(ctx context.Context, by access.Identity, id events.ThreadID, order web.HandoffOrder) (handoff events.HandoffID, err error) {
	h := conversation.Handoff{
		Target: order.Target, UserID: order.UserID, Grants: by.Grants, Actor: by.Actor(), Summary: order.Summary, Reason: order.Reason, RecentMessages: order.RecentMessages,
		Resume: order.Resume, NextPhase: order.NextPhase, ChannelEscalation: order.ChannelEscalation, Metadata: json.RawMessage(order.Metadata),
		ForGood: order.ReturnExpected != nil && !*order.ReturnExpected, DropState: order.PreserveState != nil && !*order.PreserveState,
	}
	err = s.converse(events.ThreadKey{Tenant: by.Tenant, Thread: id}, func() (err error) {
		handoff, err = s.config.Runner.HandOff(context.WithoutCancel(ctx), by.Tenant, id, h)
		return err
	})
	return handoff, err
}

// Leave implements [web.Runs].
func (s *Runs) Leave(ctx context.Context, by access.Identity, id events.ThreadID, handoff events.HandoffID, user string) error {
	return s.converse(events.ThreadKey{Tenant: by.Tenant, Thread: id}, func() error {
		return s.config.Runner.Leave(context.WithoutCancel(ctx), by.Tenant, id, handoff, conversation.Caller{UserID: user, Grants: by.Grants, Actor: by.Actor()})
	})
}

// converse does something in a thread that may begin a run, or take one up, if there is room
// for that or the thread is driven here already.
func (s *Runs) converse(key events.ThreadKey, do func() error) error {
	if s.config.Runner.Driven(key) == nil {
		if err := s.reserve(); err != nil {
			return err
		}
		defer s.begun()
	}
	err := do()
	var rejected *conversation.RejectedError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, runner.ErrQueueFull):
		return &web.Refusal{Status: http.StatusTooManyRequests, Detail: err.Error()}
	case errors.Is(err, runner.ErrBusy), errors.Is(err, runner.ErrNothingAsked), errors.Is(err, conversation.ErrNoHandoff):
		return &web.Refusal{Status: http.StatusConflict, Detail: err.Error()}
	case errors.As(err, &rejected):
		return &web.Refusal{Status: rejectedStatus(rejected.Code), Detail: rejected.Reason}
	}
	return refusal(err)
}

// rejectedStatus gives the HTTP status of a handoff that was rejected.
func rejectedStatus(code string) int {
	switch code {
	case conversation.CodeUnknownTarget:
		return http.StatusUnprocessableEntity
	case conversation.CodePermissionDenied:
		return http.StatusForbidden
	}
	return http.StatusConflict
}
