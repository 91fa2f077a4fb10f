package team

import (
	"fmt"
	"strings"
)

// MaxProblems bounds the problems that a [FileError] lists: nobody fixes more
// at once, and a file of another kind would give thousands.
const MaxProblems = 50

// Problem is one thing wrong with a team.
type Problem struct {
	// Path says where in the team, such as "specialists[1].prompt".
	Path string
	// Line and Column say where in the file, from 1; both are 0 for a team that
	// was not read from a file.
	Line, Column int
	// Message says what is wrong and what to do.
	Message string
}

// FileError lists all that is wrong with a team file, or with a team.
type FileError struct {
	// File is the name of the file, empty for a team built in Go.
	File string
	// Problems are in the order of the file; at most [MaxProblems].
	Problems []Problem
	// Omitted counts the problems beyond that.
	Omitted int
}

// Error gives one line for each problem: "launch.yaml:7:5: unknown key …".
func (e *FileError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, e.line(p))
	}
	if e.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", e.Omitted))
	}
	return strings.Join(lines, "\n")
}

func (e *FileError) line(p Problem) string {
	switch {
	case p.Line > 0 && e.File != "":
		return fmt.Sprintf("%s:%d:%d: %s", e.File, p.Line, p.Column, p.Message)
	case e.File != "":
		return e.File + ": " + p.Message
	case p.Path != "":
		return p.Path + ": " + p.Message
	}
	return p.Message
}

// problems collects what is wrong, without positions.
type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// err makes the error of a file, with the positions of its paths; nil if there
// are no problems.
func (p problems) err(file string, at places) error {
	if len(p) == 0 {
		return nil
	}
	e := &FileError{File: file, Problems: p}
	for i := range e.Problems {
		if e.Problems[i].Line == 0 {
			where := at.find(e.Problems[i].Path)
			e.Problems[i].Line, e.Problems[i].Column = where.line, where.column
		}
	}
	sortProblems(e.Problems)
	if len(e.Problems) > MaxProblems {
		e.Omitted = len(e.Problems) - MaxProblems
		e.Problems = e.Problems[:MaxProblems]
	}
	return e
}
