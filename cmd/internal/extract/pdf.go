package extract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pdfium "github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// maxPages bounds the pages that are read of a file.
	maxPages = 5000
	// memoryPages bounds the memory of the reader, in pages of 64 kB: 512 MB.
	memoryPages = 8192
)

// pdf reads the text of a PDF by pages, in a reader of its own.
func (x *Extractor) pdf(ctx context.Context, data []byte) (pages []string, err error) {
	config := wazero.NewRuntimeConfigInterpreter()
	if x.CacheDir != "" {
		// Where nothing can be kept it is interpreted.
		if cache, err := wazero.NewCompilationCacheWithDir(x.CacheDir); err == nil {
			defer func() { _ = cache.Close(context.WithoutCancel(ctx)) }()
			config = wazero.NewRuntimeConfig().WithCompilationCache(cache)
		}
	}
	config = config.WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).WithMemoryLimitPages(memoryPages)
	pool, err := webassembly.Init(webassembly.Config{MinIdle: 0, MaxIdle: 1, MaxTotal: 1, Context: ctx, RuntimeConfig: config, FSConfig: wazero.NewFSConfig()})
	if err != nil {
		return nil, fmt.Errorf("start the reader of PDFs: %w", err)
	}
	defer func() { _ = pool.Close() }()
	reader, err := pool.GetInstance(time.Until(deadline(ctx)))
	if err != nil {
		return nil, fmt.Errorf("start the reader of PDFs: %w", err)
	}
	return pagesOf(ctx, reader, data)
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline() // File sets one
	return at
}

func pagesOf(ctx context.Context, reader pdfium.Pdfium, data []byte) ([]string, error) {
	opened, err := reader.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return nil, unopened(err)
	}
	count, err := reader.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return nil, errors.New("the PDF is damaged")
	}
	if count.PageCount > maxPages {
		return nil, fmt.Errorf("it has %d pages, more than the %d that are read of a file", count.PageCount, maxPages)
	}
	pages, size := make([]string, count.PageCount), 0
	for i := range pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		page, err := reader.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: i}}})
		if err != nil {
			continue // told of as a page without text
		}
		pages[i] = strings.ReplaceAll(page.Text, "\r\n", "\n")
		if size += len(pages[i]); size > maxTextBytes {
			return nil, errTooMuch
		}
	}
	return pages, nil
}

// unopened says why a PDF cannot be read, in words of ours.
func unopened(err error) error {
	if strings.Contains(strings.ToLower(err.Error()), "password") {
		return errors.New("the PDF needs a password")
	}
	return errors.New("the PDF is damaged")
}
