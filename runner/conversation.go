package runner

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/thread"
)

// Conversation is one thread, for a program that talks in it. It holds no state: any number
// of them, in any process, may be of the same thread. It is safe for concurrent use.
type Conversation struct {
	runner *Runner
	job    Job
}

// Conversation gives the conversation in job.Thread, which defaults to a new one. The job
// says how its messages are answered: by which team, model and functions, with which
// priority and budget. Its Request, Run, Continues and Batch are not used. Team may be nil in a
// thread that has runs.
func (r *Runner) Conversation(job Job) *Conversation {
	if job.Thread == "" {
		job.Thread = events.ThreadID(uuid.NewString())
	}
	job.Tenant, job.Run, job.Continues, job.Batch = job.Tenant.OrLocal(), "", "", nil
	return &Conversation{r, job}
}

// Key names the thread.
func (c *Conversation) Key() events.ThreadKey { return c.job.key() }

// Send says something in the thread, as [Runner.Send] does.
func (c *Conversation) Send(ctx context.Context, text string) (Receipt, error) {
	return c.Deliver(ctx, text, Message{})
}

// Deliver is Send of a message that says more about itself, such as its id, or which
// request for input it answers.
func (c *Conversation) Deliver(ctx context.Context, text string, message Message) (Receipt, error) {
	job := c.job
	job.Request, job.Message = text, &message
	return c.runner.Send(ctx, job)
}

// Follow yields the events of the thread with a seq above after, and goes on live until ctx
// ends. What was said is in [thread.Thread.Messages] of their fold.
func (c *Conversation) Follow(ctx context.Context, after events.Seq) iter.Seq2[events.Envelope, error] {
	return events.Follow(ctx, c.runner.config.Log, c.Key(), after)
}

// HandOff gives the conversation to a specialist, as [Runner.HandOff] does.
func (c *Conversation) HandOff(ctx context.Context, h conversation.Handoff) (events.HandoffID, error) {
	return c.runner.handOff(ctx, c.Key(), h, c.job.terms())
}

// Return gives it back to the facilitator, as [Runner.Leave] does for the session that is
// active.
func (c *Conversation) Return(ctx context.Context, by conversation.Caller) error {
	return c.runner.leave(ctx, c.Key(), "", by, c.job.terms())
}

// Context says where the conversation stands.
func (c *Conversation) Context(ctx context.Context) (where thread.Context, err error) {
	err = c.runner.kept.Use(ctx, c.Key(), func(th *thread.Thread) error {
		where = th.Context()
		return nil
	})
	return where, err
}
