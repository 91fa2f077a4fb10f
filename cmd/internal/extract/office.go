package extract

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// packed reports whether a packed file has a part of that name.
func packed(data []byte, part string) bool {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return false
	}
	for _, file := range archive.File {
		if file.Name == part {
			return true
		}
	}
	return false
}

// docx reads the text of a Word document, paragraphs and cells of tables in order. It is
// one page: where pages end is decided when it is printed.
func docx(data []byte) ([]string, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	part, err := archive.Open("word/document.xml")
	if err != nil {
		return nil, err
	}
	defer func() { _ = part.Close() }()
	bounded := &io.LimitedReader{R: part, N: maxDocumentBytes}
	said, err := paragraphs(xml.NewDecoder(bounded))
	if bounded.N <= 0 {
		err = errTooMuch
	}
	if err != nil {
		return nil, err
	}
	return []string{said}, nil
}

// paragraphs is the text of a document in WordprocessingML: ECMA-376, part 1, section 17.3.
func paragraphs(decoder *xml.Decoder) (string, error) {
	var out text
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(out.String()), nil
		}
		if err != nil {
			return "", fmt.Errorf("the document is damaged: %w", err)
		}
		said := ""
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			said = map[string]string{"tab": "\t", "br": "\n", "cr": "\n"}[t.Name.Local]
		case xml.EndElement:
			inText = false
			said = map[string]string{"p": "\n", "tr": "\n", "tc": "\t"}[t.Name.Local]
		case xml.CharData:
			if inText {
				said = string(t)
			}
		}
		if err := out.add(said); err != nil {
			return "", err
		}
	}
}

// xlsx reads the cells of a workbook as they are shown, a sheet for a page and a line, with
// tabs, for a row.
func xlsx(ctx context.Context, data []byte) (pages []string, err error) {
	book, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: maxUnpackedBytes})
	if err != nil {
		return nil, fmt.Errorf("the workbook is damaged, or too large: %w", err)
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	size := 0
	for _, sheet := range book.GetSheetList() {
		page, err := cells(ctx, book, sheet)
		if err != nil {
			return nil, fmt.Errorf("sheet %s: %w", sheet, err)
		}
		if size += len(page); size > maxTextBytes {
			return nil, errTooMuch
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// cells is the text of a sheet, with its name.
func cells(ctx context.Context, book *excelize.File, sheet string) (string, error) {
	rows, err := book.Rows(sheet)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var out text
	if err := out.add("Sheet " + sheet + ":\n"); err != nil {
		return "", err
	}
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		row, err := rows.Columns()
		if err != nil {
			return "", err
		}
		if err := out.add(strings.TrimRight(strings.Join(row, "\t"), "\t") + "\n"); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(out.String(), "\n"), rows.Error()
}
