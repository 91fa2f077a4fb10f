// Package artifact keeps files beside the log, and has the tools by which models read and
// write them.
package artifact
