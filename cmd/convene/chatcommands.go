package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/convene-run/convene/cmd/internal/termview"
	"github.com/convene-run/convene/conversation"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/lazyregexp"
)

// chatCommand is what a line that begins with a slash does.
type chatCommand struct {
	name, what string
	do         func(c *chat, ctx context.Context, rest string) error
	// desk is set on commands of the desk alone, user on those of the user alone.
	desk, user bool
}

// chatCommands are the commands in the order in which /help lists them.
func chatCommands() []chatCommand {
	return []chatCommand{
		{name: "/status", what: "where the conversation stands", do: (*chat).showStatus},
		{name: "/history", what: "all that was said", do: (*chat).showHistory},
		{name: "/agents", what: "who is in the team", do: (*chat).showAgents},
		{name: "/document", what: "what the team wrote for the newest request", do: (*chat).showDocument},
		{name: "/steer", what: "TEXT: tell whoever is answering now, without waiting for the answer", do: (*chat).steer, user: true},
		{name: "/leave", what: "leave the specialist: the facilitator has the conversation again", do: (*chat).leave, user: true},
		{name: "/release", what: "give the conversation back to the agents", do: (*chat).leave, desk: true},
		{name: "/exit", what: "leave; what is under way is parked", do: (*chat).exit},
		{name: "/help", what: "this list", do: (*chat).help},
	}
}

// commands are those that can be given here.
func (c *chat) commands() (available []chatCommand) {
	for _, command := range chatCommands() {
		if command.desk && !c.desk || command.user && c.desk {
			continue
		}
		available = append(available, command)
	}
	return available
}

func (c *chat) commandNames() (names []string) {
	for _, command := range c.commands() {
		names = append(names, command.name)
	}
	return names
}

var commandLine = lazyregexp.New(`(?s)^(/[a-z]+)(?:\s+(.*))?$`)

// command splits a line that is a command. Others that begin with a slash, such as paths,
// are messages, and so is all behind a space.
func command(text string) (name, rest string, ok bool) {
	match := commandLine.FindStringSubmatch(text)
	if match == nil {
		return "", "", false
	}
	return match[1], strings.TrimSpace(match[2]), true
}

// do gives a command.
func (c *chat) do(ctx context.Context, name, rest string) error {
	for _, command := range c.commands() {
		if command.name == name || name == "/quit" && command.name == "/exit" {
			return command.do(c, ctx, rest)
		}
	}
	return c.refuse(fmt.Errorf("there is no command %s: choose %s. To send it as a message, begin with a space",
		termview.Clip(name, 40), strings.Join(c.commandNames(), ", ")))
}

func (c *chat) exit(context.Context, string) error {
	c.leaving = true
	return nil
}

func (c *chat) help(context.Context, string) error {
	var lines []string
	for _, command := range c.commands() {
		lines = append(lines, fmt.Sprintf("  %-10s %s", command.name, command.what))
	}
	return c.view.notice(append(lines, "  Alt+Enter begins a new line, Tab completes a command, ↑ brings back what was typed.")...)
}

func (c *chat) showStatus(context.Context, string) error {
	at := c.thread.Context()
	if at.Run == "" {
		return c.view.notice("nothing was said yet")
	}
	lines := []string{
		"thread    " + string(c.key.Thread),
		"team      " + at.Team,
		"with      " + termview.Where(at),
		"status    " + string(at.Status),
		fmt.Sprintf("messages  %d, %s, begun %s ago", at.Messages, termview.Plural(at.Handoffs, "handoff"), termview.Age(time.Since(at.Created))),
	}
	for _, input := range c.thread.Inputs() {
		lines = append(lines, fmt.Sprintf("asked     %s: %s", input.InputID, termview.Clip(input.Question, 160)))
	}
	for i, m := range c.thread.Queue() {
		lines = append(lines, fmt.Sprintf("queued %d  %s", i+1, termview.Clip(m.Content, 160)))
	}
	return c.view.notice(lines...)
}

func (c *chat) showHistory(context.Context, string) error {
	for _, m := range c.thread.Messages(0, 0) {
		if err := c.view.recall(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *chat) showAgents(context.Context, string) error {
	current := c.thread.Current()
	if current == nil {
		return c.view.notice("nothing was said yet: the first message gathers the team")
	}
	at := c.thread.Context()
	var lines []string
	for _, card := range current.Started.Agents {
		line := fmt.Sprintf("  %s (%s) %s", termview.Line(card.DisplayName), card.ID, termview.Line(strings.Join(card.Models, ", ")))
		if card.ID == at.Agent {
			line = "› " + line[2:]
		}
		lines = append(lines, line)
	}
	return c.view.notice(lines...)
}

func (c *chat) showDocument(context.Context, string) error {
	for i := len(c.thread.Runs) - 1; i >= 0; i-- {
		if text := c.thread.Runs[i].Document.RenderClean(); strings.TrimSpace(text) != "" {
			return c.view.document(text)
		}
	}
	return c.view.notice("nothing was written yet")
}

func (c *chat) steer(ctx context.Context, text string) error {
	switch {
	case text == "":
		return c.refuse(errors.New("/steer needs a text: what whoever is answering now is to know"))
	case !c.busy():
		return c.refuse(errors.New("no answer is under way that could be steered: send it as a message"))
	}
	return c.send(ctx, text, events.DeliverySteer)
}

// leave gives the conversation back to the facilitator.
func (c *chat) leave(ctx context.Context, _ string) error {
	var session events.HandoffID
	if person := c.thread.Handoffs.Person(); c.desk && person != nil {
		session = person.ID
	}
	err := c.runner.Leave(ctx, c.key.Tenant, c.key.Thread, session, conversation.Caller{UserID: c.job.Message.UserID, Actor: c.job.Message.Actor})
	if errors.Is(err, conversation.ErrNoHandoff) {
		err = errors.New("nobody was handed the conversation: the facilitator has it")
	}
	if err != nil {
		return c.refuse(err)
	}
	return nil
}
