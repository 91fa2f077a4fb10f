package main

import (
	"github.com/spf13/cobra"

	"github.com/convene-run/convene/cmd/internal/termview"
)

// partFlags choose between answer and document.
type partFlags struct {
	answer, document bool
}

func (f *partFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.answer, "answer-only", false, "write the answer without the document")
	c.Flags().BoolVar(&f.document, "document-only", false, "write the document without the answer")
	c.MarkFlagsMutuallyExclusive("answer-only", "document-only", "json")
}

func (f *partFlags) part() termview.Part {
	switch {
	case f.answer:
		return termview.AnswerOnly
	case f.document:
		return termview.DocumentOnly
	}
	return termview.Both
}

// missing says what a run lacks that has nothing of the wanted part.
func (f *partFlags) missing() string {
	switch {
	case f.answer:
		return "no answer"
	case f.document:
		return "no document"
	}
	return "neither answer nor document"
}
