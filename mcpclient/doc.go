// Package mcpclient makes tools of what servers of the Model Context Protocol offer:
// commands that speak on their standard input and output, and addresses that speak
// streamable HTTP. It speaks the protocol of 2026-07-28 and those before it.
//
// It decides neither which servers may run nor who may use which tool. A [Pool] has one
// connection to each server, for all runs and teams of the process; it connects when a tool
// is first called, and again when a server has died.
//
//	pool := mcpclient.New(mcpclient.Options{})
//	defer pool.Close()
//	listing, err := pool.List(ctx, "wiki", server)     // connects
//	tools, notes := pool.Tools("wiki", server, listing) // connects when they are called
package mcpclient
