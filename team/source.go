package team

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxFileBytes bounds a team file: all prompts of a full team fit many times,
	// and a file given by mistake is refused before it is parsed.
	MaxFileBytes = 1 << 20
	// maxTokens bounds the YAML tokens of a file. A full team has about a thousand.
	maxTokens = 20_000
	// maxNodes bounds the values of a file with its aliases written out, so that
	// aliases of aliases cannot multiply without end.
	maxNodes = 20_000
	// maxDepth bounds nesting, because parsing recurses. A team nests five deep.
	maxDepth = 32
	// maxKeyColumn bounds the column of block keys and list dashes, and with it the
	// nesting of blocks, which grows by a column at least.
	maxKeyColumn = 200
	// maxBlankLines bounds blank lines in a row: the YAML scanner copies a block of
	// text once for each blank line at its end, which takes minutes for a file full.
	maxBlankLines = 100
	// maxRun bounds one character repeated: the scanner recounts a run at each of
	// its characters.
	maxRun = 1000
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// parseSource turns the bytes of a file into nodes. What it refuses comes back
// as a single problem with its position.
func parseSource(src []byte) (*node, *Problem) {
	if len(src) > MaxFileBytes {
		return nil, &Problem{Message: fmt.Sprintf("the file has more than %d bytes (1 MiB); is it the right file?", MaxFileBytes)}
	}
	src = bytes.TrimPrefix(src, byteOrderMark)
	// To YAML both are line breaks; one spelling keeps what follows simple.
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	src = bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, &Problem{Message: emptyFile}
	}
	if problem := checkRunes(src); problem != nil {
		return nil, problem
	}
	tokens := lexer.Tokenize(string(src))
	if problem := checkTokens(tokens); problem != nil {
		return nil, problem
	}
	file, problem := parseTokens(tokens)
	if problem != nil {
		return nil, problem
	}
	return buildTree(file)
}

// checkRunes looks at every character, and says where the first bad one is.
func checkRunes(src []byte) *Problem {
	blank := 0 // line breaks since the last character that is no space
	run, last := 0, rune(0)
	for i, line, column := 0, 1, 1; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		if r != last {
			run, last = 0, r
		}
		run++
		switch {
		case r == utf8.RuneError && size == 1:
			return problemAt(line, column, "byte 0x%02x is not valid UTF-8; save the file as UTF-8", src[i])
		case r == 0:
			return problemAt(line, column, "a NUL byte; is it a text file?")
		case r == '\n':
			line, column = line+1, 0
			blank++
		case r != ' ' && r != '\t':
			blank = 0
			if run > maxRun {
				return problemAt(line, column, "%q more than %d times in a row; is it the right file?", r, maxRun)
			}
		}
		if blank > maxBlankLines {
			return problemAt(line, 1, "more than %d blank lines in a row; remove some", maxBlankLines)
		}
		i, column = i+size, column+1
	}
	return nil
}

func problemAt(line, column int, format string, args ...any) *Problem {
	return &Problem{Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// checkTokens refuses, before the parser recurses over them, tokens that nest
// too deep or that a team file does not use.
func checkTokens(tokens token.Tokens) *Problem {
	if len(tokens) > maxTokens {
		return at(tokens[maxTokens], "the file has more than %d YAML tokens; is it the right file?", maxTokens)
	}
	depth := 0
	for i, tk := range tokens {
		switch tk.Type {
		case token.InvalidType:
			return at(tk, "%s", syntaxMessage(tk.Error, tk))
		case token.TagType:
			return at(tk, "tags such as %s are not used here; remove it", clip(tk.Value))
		case token.MergeKeyType:
			return at(tk, "merge keys (<<) are not used here; write the keys out")
		case token.AnchorType:
			if i > 0 && tokens[i-1].Type == token.AnchorType {
				return at(tk, "an anchor directly after an anchor; remove one")
			}
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			if depth <= 0 && tk.Position.Column > maxKeyColumn {
				return at(tk, "a key or list item in column %d, %d is the most; write less deep, or quote the text", tk.Position.Column, maxKeyColumn)
			}
		}
		if depth > maxDepth {
			return at(tk, "brackets nest more than %d deep; write less deep", maxDepth)
		}
	}
	return nil
}

// parseTokens runs the YAML parser. A panic in it is a problem of the file, not
// of the program.
func parseTokens(tokens token.Tokens) (file *ast.File, problem *Problem) {
	defer func() {
		if r := recover(); r != nil {
			file, problem = nil, &Problem{Message: fmt.Sprintf("the YAML parser gave up (%v); check quotes, brackets and indentation", r)}
		}
	}()
	// Duplicate keys are found later, all of them and with their paths.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file, nil
	}
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return nil, &Problem{Message: "not valid YAML: " + err.Error()}
	}
	return nil, at(syntax.GetToken(), "%s", syntaxMessage(syntax.GetMessage(), syntax.GetToken()))
}

// syntaxMessage adds the usual remedy to the parser's words.
func syntaxMessage(message string, tk *token.Token) string {
	switch {
	case strings.Contains(message, `'\t'`) || strings.Contains(message, "tab character") || strings.Contains(tk.Origin, "\t"):
		return "not valid YAML: " + message + "; YAML indents with spaces, replace the tab"
	case strings.Contains(message, "reserved") || strings.Contains(message, "cannot start any token"):
		return "not valid YAML: " + message + "; put the text in quotes"
	}
	return "not valid YAML: " + message + "; check indentation, quotes and colons here and in the line before"
}

func at(tk *token.Token, format string, args ...any) *Problem {
	problem := &Problem{Message: fmt.Sprintf(format, args...)}
	if tk != nil && tk.Position != nil {
		problem.Line, problem.Column = tk.Position.Line, tk.Position.Column
	}
	return problem
}
