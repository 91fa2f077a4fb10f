package builtin

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/convene-run/convene/agent"
)

// maxExtracting bounds the documents that are read at once: one may take half a gigabyte.
const maxExtracting = 2

// documents reads files that are no text: as artifacts, which models read by pages. nil reads
// none.
type documents struct {
	extract func(ctx context.Context, name string, data []byte) agent.File
	// places has one for each document that is being read.
	places chan struct{}
}

func (k *Kit) documents() *documents {
	if k.Extract == nil {
		return nil
	}
	k.once.Do(func() { k.places = make(chan struct{}, maxExtracting) })
	return &documents{extract: k.Extract, places: k.places}
}

// read gives a file with the text of its pages. The error says why it has none.
func (d *documents) read(ctx context.Context, in agent.Invocation, file *os.File, name string) (agent.Result, error) {
	if d == nil {
		return agent.Result{}, fmt.Errorf("%s is not text in UTF-8, and cannot be read here", name)
	}
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	case <-ctx.Done():
		return agent.Result{}, context.Cause(ctx)
	}
	in.Progress() // the wait was not this call's
	data, err := io.ReadAll(io.NewSectionReader(file, 0, maxFileBytes))
	if err != nil {
		return agent.Result{}, told(name, err)
	}
	read := d.extract(ctx, name, data)
	switch {
	case read.Pages != nil, strings.HasPrefix(read.MediaType, "image/"):
		return agent.Result{Files: []agent.File{read}}, nil
	case read.Note != "":
		return agent.Result{}, fmt.Errorf("%s: %s", name, read.Note)
	}
	return agent.Result{}, fmt.Errorf("%s is neither text in UTF-8 nor a document whose text can be read", name)
}
