// Package team describes who works on a request: a facilitator, its
// specialists, the layout of their document and the limits of a run. A new
// domain is a team file, not code.
//
// It reads team files (YAML, or JSON, which is YAML), tells every problem of a
// file with line and column, and carries the built-in teams. It runs nothing:
// the packages facilitator and specialists turn the description into agents.
//
//	t, err := team.Load("launch.yaml") // or team.Builtin("trip")
//	if err != nil {
//		fmt.Fprintln(os.Stderr, err) // launch.yaml:7:5: unknown key "promt"; did you mean "prompt"? …
//		return
//	}
//	for _, s := range t.Specialists {
//		fmt.Println(s.ID, s.DisplayName, s.Description)
//	}
//	fmt.Println(t.Limits.MaxTasks, t.Limits.MaxTime)
//
// A [Team] that [Parse] returns is resolved: every default is filled in. Its
// JSON is what a run's log keeps and what a resumed run reads back.
package team
