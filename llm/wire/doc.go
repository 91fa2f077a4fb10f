// Package wire is what the adapters of all APIs share: the HTTP transport with its
// timeouts, the reader of event streams with its bounds, the bodies of errors, the
// spellings of Retry-After, and the growing reply. An adapter writes the body of a
// request and implements [Protocol], which reads the JSON of one API; everything
// else about a call is here. It makes one attempt per call: retries, limits and
// prices are the matter of [llm.Caller].
//
//	conn := wire.NewConn(wire.Config{Provider: "openai", BaseURL: "https://api.openai.com/v1"})
//	p := &protocol{} // a struct with a wire.Call and the methods of Protocol
//	p.Of(conn, &req, yield)
//	err := p.Run(ctx, "responses", p)
package wire
