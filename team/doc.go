// Package team describes who works on a request: a facilitator, its
// specialists, the layout of their document and the limits of a run. A new
// domain is a team file, not code.
//
// It reads team files (YAML, or JSON, which is YAML), reports every problem in
// a file with line and column, and carries the built-in teams. It runs nothing:
// the packages facilitator and specialists turn the description into agents.
//
// A [Team] returned by [Load], [Parse] or [Builtin] is resolved: every default is
// filled in. Its JSON is what a run's log keeps and a resumed run reads back.
package team
