// Package extract gets the text out of files that people hand over: PDF, Word, Excel and HTML.
// It never fails for a file: what cannot be read is said in a note.
//
// PDF is read by PDFium, in WebAssembly, so that a malicious file reaches nothing and ends at
// its bounds of time and memory. What it has no text for, such as a scan, is not recognized.
package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/internal/artifact"
)

const (
	// timeout bounds the reading of one file. A PDF of a thousand pages takes some seconds.
	timeout = time.Minute
	// maxTextBytes bounds the text of one file: more than any book has.
	maxTextBytes = 50 << 20
	// maxDocumentBytes bounds the unpacked content of a Word document, maxUnpackedBytes that of a
	// workbook, so that a small file cannot fill the memory.
	maxDocumentBytes = 64 << 20
	maxUnpackedBytes = 200 << 20
)

// errTooMuch is for a file whose text or content has no bounds that make sense.
var errTooMuch = errors.New("it unpacks to more than is read of a file")

// Media types.
const (
	typePDF  = "application/pdf"
	typeDOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	typeHTML = "text/html"
)

// Extractor gets the text out of files. It is safe for concurrent use.
type Extractor struct {
	// CacheDir is where the reader of PDFs is kept once it was compiled, which takes some
	// seconds. Defaults to none: it is then interpreted, which is slower by far for a large file.
	CacheDir string

	texts texts
}

// File gives the file with its media type and its text, which is read once of the same bytes.
func (x *Extractor) File(ctx context.Context, name string, data []byte) agent.File {
	file := agent.File{Name: name, MediaType: TypeOf(name, data), Data: data}
	if !slices.Contains([]string{typePDF, typeDOCX, typeXLSX, typeHTML}, file.MediaType) {
		return file
	}
	found, ok := x.texts.get(ctx, file.MediaType, data, func(ctx context.Context) (read, bool) { return x.read(ctx, file.MediaType, data) })
	if !ok {
		file.Note = "its text was not read: " + context.Cause(ctx).Error()
		return file
	}
	file.Pages, file.Note = slices.Clone(found.pages), found.note
	return file
}

// read reads a file within its bounds. whole is false where another try may come to more.
func (x *Extractor) read(ctx context.Context, mediaType string, data []byte) (found read, whole bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pages, err := x.pages(ctx, mediaType, data)
	switch {
	case ctx.Err() != nil:
		found.note = fmt.Sprintf("its text was not read: it took longer than %s", timeout)
		return found, false
	case err != nil:
		found.note = "its text was not read: " + err.Error()
	case pages != nil:
		found.pages, found.note = pages, blank(pages)
	}
	return found, true
}

// pages reads the text by the type of the file, nil for one that is text, or has none.
func (x *Extractor) pages(ctx context.Context, mediaType string, data []byte) (pages []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			pages, err = nil, fmt.Errorf("it is damaged (%v)", p)
		}
	}()
	switch mediaType {
	case typePDF:
		return x.pdf(ctx, data)
	case typeDOCX:
		return docx(data)
	case typeXLSX:
		return xlsx(ctx, data)
	case typeHTML:
		return html(data)
	}
	return nil, nil
}

// blank says which pages have no text.
func blank(pages []string) string {
	empty := 0
	for _, page := range pages {
		if strings.TrimSpace(page) == "" {
			empty++
		}
	}
	switch {
	case empty == 0:
		return ""
	case empty == len(pages):
		return "it has no text, as a scan has none"
	}
	return fmt.Sprintf("%d of %d pages have no text, as scans have none", empty, len(pages))
}

// TypeOf is the media type of a file by its content, for text by its name too.
func TypeOf(name string, data []byte) string {
	ending := strings.ToLower(path.Ext(name))
	switch {
	case bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")):
		return typePDF
	case bytes.HasPrefix(data, []byte("PK\x03\x04")) && packed(data, "word/document.xml"):
		return typeDOCX
	case bytes.HasPrefix(data, []byte("PK\x03\x04")) && packed(data, "xl/workbook.xml"):
		return typeXLSX
	case isText(data) && (ending == ".html" || ending == ".htm"):
		return typeHTML
	case isText(data):
		return artifact.TypeOf(name)
	}
	found, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if strings.HasPrefix(found, "text/") {
		return "application/octet-stream" // it is not in UTF-8
	}
	return found
}

func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// text collects the text of a file within its bound.
type text struct{ strings.Builder }

func (t *text) add(s string) error {
	if t.Len()+len(s) > maxTextBytes {
		return errTooMuch
	}
	t.WriteString(s)
	return nil
}
