// Package mcpserver serves teams as tools of the Model Context Protocol: run_team, start_run,
// get_run, list_events and cancel_run. It speaks the protocol of 2026-07-28 and those before
// it, on standard input and output or as an [http.Handler] for streamable HTTP.
//
// It neither drives runs nor decides who may connect: runs are started through [Runs], which
// package steer implements on a runner, and are read from the log; hosts, origins and tokens
// are checked in front of the handler, see [web.Guard]. Callers choose among the teams that
// they are offered, and see the runs of these teams and no others.
//
//	server, err := mcpserver.New(mcpserver.Config{Log: store, Runs: steer.New(…), Teams: teams})
//	err = server.ServeStdio(ctx, os.Stdin, os.Stdout) // until the client ends it
//	http.Handle("/mcp", server.Handler())             // or over HTTP
package mcpserver
