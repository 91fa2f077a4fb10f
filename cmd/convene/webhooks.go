package main

import (
	"context"
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/webhook"
)

// webhooks prepares what tells the configured receivers what happens.
func (a *app) webhooks(ctx context.Context, d *driver) (*webhook.Sender, error) {
	receivers, err := a.config.Webhooks(ctx, a.env)
	if err != nil {
		return nil, err
	}
	level := d.level
	if level == zerolog.Disabled {
		level = zerolog.WarnLevel // nobody sees otherwise that a receiver is down
	}
	return webhook.New(webhook.Config{
		Log: d.log, Receivers: receivers, Logger: a.requestLog(level),
		Owner: events.Owner(fmt.Sprintf("convene serve pid %d", os.Getpid())),
	})
}
