package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
	"github.com/convene-run/convene/thread"
)

// chatFlags are those of `convene chat`.
type chatFlags struct {
	baseURL string
	model   string
	team    string
	thread  string
	newest  bool
	as      string
	user    string
	json    bool
	noQueue bool
	maxWait maxWait
}

func newChatCommand(a *app) *cobra.Command {
	var f chatFlags
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a team",
		Long: `Talk with a team: each line is a message, the answer is shown as it is written. Where
the facilitator hands the conversation over, a specialist answers until it gives it back.
A conversation is a thread: --continue and --thread go on with one, also after the process
was killed.

While an answer is being written, a further message is queued; /steer TEXT reaches
whoever is answering now. ^C cancels the answer, a second ^C leaves; what is under way is
then parked. /help lists the commands.

If standard input is not a terminal, each line is a message that is sent once the one
before is answered; what agents say goes to stdout, everything else to stderr.

--as human shows the conversations that wait for a person, who answers in an agent's place.

Exit codes: 0 done, 1 the last message was not answered, 2 wrong usage or configuration,
3 its answer is degraded, 4 a limit was reached, 5 an agent waits for an answer that the
input did not have, 6 parked: an endpoint was unavailable, 130 interrupted.`,
		Example: `  convene chat --team skill-builder
  convene chat --continue
  printf '%s\n' 'I want to create a skill' 'It posts alerts to Slack' | convene chat --team skill-builder
  convene chat --as human`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.chat(c, &f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.team, "team", "", "team file, or name of a built-in team: "+names(team.BuiltinNames())+" (default "+team.DefaultName+"; in a thread that exists, its own)")
	flags.StringVar(&f.model, "model", "", "model for every agent, as provider/name, instead of the team's models and fallbacks; a comma-separated list is tried in order")
	flags.StringVar(&f.thread, "thread", "", "thread to go on with, a version 4 UUID; one that does not exist yet begins (default: a new one)")
	flags.BoolVar(&f.newest, "continue", false, "go on with the newest conversation")
	flags.StringVar(&f.as, "as", "user", "who you are: user, or human to answer in an agent's place")
	flags.StringVar(&f.user, "user", "", "your user id, recorded with each message")
	flags.StringVar(&f.baseURL, "base-url", "", "OpenAI-compatible endpoint, such as http://localhost:8080/v1 (or OPENAI_BASE_URL)")
	flags.BoolVar(&f.json, "json", false, "write the thread's events as JSON lines to stdout, as they happen, instead of what is said")
	flags.BoolVar(&f.noQueue, "no-queue", false, "refuse a message while another one is being answered, instead of queueing it")
	f.maxWait.register(flags, runner.DefaultMaxWait.String())
	a.flags.limits.register(flags)
	c.MarkFlagsMutuallyExclusive("thread", "continue")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"user", "human"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) chat(c *cobra.Command, f *chatFlags) (err error) {
	if f.as != "user" && f.as != "human" {
		return usage(fmt.Errorf("--as %q is neither user nor human", f.as))
	}
	job, err := f.job()
	if err != nil {
		return usage(err)
	}
	d := &driver{app: a, models: a.watchedModels(f.baseURL), flags: driveFlags{baseURL: f.baseURL, json: f.json, maxWait: f.maxWait}}
	open := a.openStore
	if f.newest || f.as == "human" {
		open = a.existingStore
	}
	if err := d.open(c.Context(), open); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r, err := d.runner()
	if err != nil {
		return err
	}
	if f.as == "human" {
		return a.desk(c.Context(), d, r, f)
	}
	key, err := a.chatThread(c.Context(), d.log, f)
	if err != nil {
		return usage(err)
	}
	chat := &chat{app: a, driver: d, runner: r, key: key, job: job, thread: thread.New()}
	return chat.run(c.Context())
}

// job is what every message of the conversation is sent with.
func (f *chatFlags) job() (runner.Job, error) {
	job := runner.Job{Model: f.model, Message: &runner.Message{UserID: f.user, ChannelType: channelTerminal, Actor: inChat(f.user)}}
	if f.noQueue {
		job.Message.Delivery = events.DeliveryStart
	}
	if f.team == "" && (f.newest || f.thread != "") {
		return job, nil // the thread's own
	}
	var err error
	job.Team, err = team.Resolve(f.team)
	return job, err
}

// channelTerminal is the channel type of what is typed into `convene chat`.
const channelTerminal = "terminal"

// chatThread finds the thread to talk in, or names a new one.
func (a *app) chatThread(ctx context.Context, log events.Index, f *chatFlags) (events.ThreadKey, error) {
	key := events.ThreadKey{Tenant: events.LocalTenant, Thread: events.ThreadID(f.thread)}
	switch {
	case f.newest:
		runs, err := log.Runs(ctx, events.RunQuery{Tenant: events.LocalTenant, Limit: 1})
		if err == nil && len(runs) == 0 {
			err = fmt.Errorf("there is no conversation in %s to go on with. Begin one with: convene chat", a.storePath())
		}
		if err != nil {
			return key, err
		}
		key.Thread = runs[0].Thread
	case f.thread == "":
		key.Thread = events.ThreadID(uuid.NewString())
	default:
		return key, checkThread(f.thread)
	}
	return key, nil
}

func checkThread(id string) error {
	if parsed, err := uuid.Parse(id); err != nil || parsed.Version() != 4 || parsed.String() != id {
		return fmt.Errorf("--thread %q is not a UUID version 4 in lower case, such as %s", termview.Clip(id, 100), uuid.NewString())
	}
	return nil
}
