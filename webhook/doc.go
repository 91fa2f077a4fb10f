// Package webhook tells addresses of others what happens in the threads of a log: one POST
// for each event, signed as https://www.standardwebhooks.com describes, at least once, in the
// order of the log. It reads the log from a bookmark that is kept there for each receiver, so
// one that is down, or a program that is not running, misses nothing.
//
// It is not for teams to configure: the receivers, and their secrets, are the operator's.
//
//	sender, err := webhook.New(webhook.Config{Log: log, Receivers: []webhook.Receiver{{
//		URL: "https://example.org/hooks", Secrets: []string{os.Getenv("HOOK_SECRET")},
//	}}})
//	if err != nil {
//		return err
//	}
//	if err := sender.Start(ctx); err != nil {
//		return err
//	}
//	defer sender.Stop()
//
// A receiver answers 2xx once it has taken the event; redirects are not followed. Anything
// else, or silence, has the event sent again, later and later, up to once a minute, and those
// behind it wait: their order is kept. 410 Gone ends the sending until the next [Sender.Start].
// The header webhook-id, THREAD:SEQ, is that of the event, so what comes twice can be told.
package webhook
