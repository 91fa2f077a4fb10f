// Package llmtest is for tests of what calls models: a scripted client, and a
// recorder and player of real traffic.
//
//	client := llmtest.Script(t,
//		llmtest.Agent("You lead", // whose system prompt contains this
//			llmtest.Calls("", llmtest.Call("create_tasks", map[string]any{"tasks": tasks})),
//			llmtest.Fails(&llm.Error{Kind: llm.ErrServer, Status: 503}),
//			llmtest.Says("Done.").After(time.Second)),
//		llmtest.Agent("You know how a place eats", llmtest.Says("Eaten.")))
//	… // run it
//	llmtest.RequirePrefixes(t, client.Requests("You lead"))
package llmtest
