// Package llmtest is for tests of what calls models: a scripted client.
//
//	client := llmtest.Script(t,
//		llmtest.Agent("You lead", // whose system prompt contains this
//			llmtest.Calls("", llmtest.Call("create_tasks", map[string]any{"tasks": tasks})),
//			llmtest.Fails(&llm.Error{Kind: llm.ErrServer, Status: 503}),
//			llmtest.Says("Done.").After(time.Second)),
//		llmtest.Agent("You know how a place eats", llmtest.Says("Eaten.")))
//	result, err := r.Run(ctx, job) // a runner with this client
//	llmtest.RequirePrefixes(t, client.Requests("You lead"))
package llmtest
