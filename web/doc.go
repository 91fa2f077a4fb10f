// Package web serves the dashboard and the HTTP API: lists of runs, threads and batches,
// the events of one by WebSocket or server-sent events, starting and steering runs, and
// conversations: messages in and out, handoffs, the context of a thread.
//
// It reads a [Log] and knows no agent and no model: a log loaded from a file drives the
// same page as a run in progress. To let it start runs, give it a [Runs]; without one the
// server only shows them.
//
//	server, err := web.New(web.Config{Log: log, Runs: runs, Address: "127.0.0.1:8484"})
//	if err != nil {
//		return err
//	}
//	listener, err := net.Listen("tcp", "127.0.0.1:8484")
//	if err != nil {
//		return err
//	}
//	return server.Serve(ctx, listener) // until ctx ends
//
// Viewers hold a position in the log, not a queue: a slow one slows nobody down and loses
// nothing. The current state of an agent (its phase, the newest tokens) is not in the
// log; it is sent marked "lossy".
//
//go:generate go run ../internal/tsgen src/events.ts
package web
