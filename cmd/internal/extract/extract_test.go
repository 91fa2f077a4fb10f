package extract_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/cmd/internal/extract"
	"github.com/convene-run/convene/internal/race"
)

// pdf gives a document with these pages: https://opensource.adobe.com/dc-acrobat-sdk-docs/pdfstandards/PDF32000_2008.pdf
func pdf(pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", kids, len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, page := range pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		stream := "BT /F1 12 Tf 72 720 Td (" + page + ") Tj ET"
		object("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, xref)
	return b.Bytes()
}

// packed gives an archive with one part.
func packed(t *testing.T, name string, content io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	part, err := archive.Create(name)
	require.NoError(t, err)
	_, err = io.Copy(part, content)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return b.Bytes()
}

func read(t *testing.T, name string, data []byte) agent.File {
	t.Helper()
	return new(extract.Extractor).File(t.Context(), name, data)
}

const word = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` +
	`<w:p><w:r><w:t>Menu &amp; </w:t></w:r><w:r><w:t>prices</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>Soup</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>`

// Proves that the text of each kind of file is read by pages, and the rest said in words.
func TestFile(t *testing.T) {
	book := excelize.NewFile()
	require.NoError(t, book.SetSheetRow("Sheet1", "A1", &[]any{"Dish", "Price"}))
	require.NoError(t, book.SetSheetRow("Sheet1", "A2", &[]any{"Soup", 7.5}))
	_, err := book.NewSheet("Empty")
	require.NoError(t, err)
	sheets, err := book.WriteToBuffer()
	require.NoError(t, err)
	menu := pdf("Soups", "", "Fish of the day")
	for _, c := range []struct {
		name, data, mediaType string
		pages                 []string
		note                  string
	}{
		{"menu.pdf", string(menu), "application/pdf", []string{"Soups", "", "Fish of the day"}, "1 of 3 pages have no text, as scans have none"},
		{"scan.pdf", string(pdf("")), "application/pdf", []string{""}, "it has no text, as a scan has none"},
		{"cut.pdf", "%PDF-1.4\n", "application/pdf", nil, "its text was not read: the PDF is damaged"},
		{"menu", string(packed(t, "word/document.xml", strings.NewReader(word))), "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
			[]string{"Menu & prices\nSoup"}, ""},
		{"cut.docx", string(packed(t, "word/document.xml", strings.NewReader(word[:200]))), "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
			nil, "its text was not read: the document is damaged"},
		{"menu.xlsx", sheets.String(), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			[]string{"Sheet Sheet1:\nDish\tPrice\nSoup\t7.5", "Sheet Empty:"}, ""},
		{"bad.xlsx", string(packed(t, "xl/workbook.xml", strings.NewReader("<"))), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			nil, "its text was not read: "},
		{"menu.html", "<title>Menu</title><script>steal()</script><p>Soup &lt;hot&gt;<br>7.50</p><style>p{}</style><ul><li>Fish</ul>", "text/html", []string{"Menu\nSoup <hot>\n7.50\nFish"}, ""},
		{"menu.csv", "soup,7.5\n", "text/csv", nil, ""},
		{"photo", "\x89PNG\x0D\x0A\x1A\x0A", "image/png", nil, ""},
		{"old.txt", "caf\xe9 au lait, a long one", "application/octet-stream", nil, ""},
	} {
		if race.Enabled && strings.HasSuffix(c.name, ".pdf") {
			continue // the interpreter takes minutes
		}
		file := read(t, c.name, []byte(c.data))
		require.Equal(t, c.mediaType, file.MediaType, c.name)
		require.Equal(t, c.pages, file.Pages, c.name)
		require.True(t, strings.HasPrefix(file.Note, c.note) && (c.note != "" || file.Note == ""), "%s: %s", c.name, file.Note)
	}
}

// A small file that unpacks to a huge one is given up at a bound.
func TestPackedBomb(t *testing.T) {
	race.Skip(t, "one goroutine unpacks 64 MB")
	paragraph := io.LimitReader(zeros{}, 80<<20)
	bomb := packed(t, "word/document.xml", io.MultiReader(strings.NewReader("<w:document><w:t>"), paragraph))
	require.Less(t, len(bomb), 1<<20)
	file := read(t, "bomb.docx", bomb)
	require.Contains(t, file.Note, "its text was not read: ")
	require.Nil(t, file.Pages)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Whatever bytes are damaged in a PDF, it is read or said to be damaged.
func TestDamagedPDF(t *testing.T) {
	race.Skip(t, "the interpreter takes minutes")
	whole := pdf("Soups", "Fish")
	for _, at := range []int{len(whole) / 2, len(whole) - 10} {
		damaged := bytes.Clone(whole)
		damaged[at] = 'x'
		file := read(t, "menu.pdf", damaged)
		require.True(t, len(file.Pages) > 0 || file.Note != "" || file.MediaType != "application/pdf", "%d", at)
	}
}

// The same bytes are read once, however many ask for them at once and under whatever names, and
// nobody who has changed what he got changes it for others.
func TestSameFileIsReadOnce(t *testing.T) {
	var x extract.Extractor
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	document, err := archive.Create("word/document.xml")
	require.NoError(t, err)
	_, err = io.WriteString(document, `<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>Soup of the day</w:t></w:r></w:p></w:body></w:document>`)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	first := x.File(t.Context(), "a.docx", b.Bytes())
	require.Len(t, first.Pages, 1)
	require.Contains(t, first.Pages[0], "Soup of the day")
	again := x.File(t.Context(), "b.docx", bytes.Clone(b.Bytes()))
	require.Equal(t, "b.docx", again.Name)
	require.Same(t, unsafe.StringData(first.Pages[0]), unsafe.StringData(again.Pages[0]), "the very text that was read")
	again.Pages[0] = "changed"
	require.Contains(t, x.File(t.Context(), "c.docx", b.Bytes()).Pages[0], "Soup of the day")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Contains(t, x.File(ended, "d.html", []byte("<p>Soup")).Name, "d.html")
	require.Contains(t, x.File(t.Context(), "d.html", []byte("<p>Soup")).Pages[0], "Soup", "whoever left spoilt nothing")
}
