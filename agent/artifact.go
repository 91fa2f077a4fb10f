package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/convene-run/convene/events"
)

// File is a file that a result brings, or that comes with a request. It is kept beside the log
// as an artifact, of which the model is told.
type File struct {
	Name string
	// MediaType is such as "text/csv". Defaults to what the bytes look like.
	MediaType string
	// Data has at most [events.MaxArtifactBytes], and is not changed any more.
	Data []byte
	// Pages is the text of the file, page by page, where Data is not text itself: models read
	// that.
	Pages []string
	// Origin is the URL that the file was loaded from, if it was.
	Origin string
	// Note says in words what a reader should know, such as that a page has no text.
	Note string
}

// Artifacts are the files of the thread that a call is made in, as of the call.
type Artifacts struct {
	// Known are the files, the oldest first.
	Known []events.ArtifactCreated
	// Open gives the bytes of one, see [events.Artifacts]; nil where no files are kept.
	Open func(ctx context.Context, id events.ArtifactID) (*io.SectionReader, error)
}

// minPrefix is how much of an id must be given: less is said by accident.
const minPrefix = 6

// maxListed bounds the files that an error lists.
const maxListed = 10

// Find gives the newest file with that id, whose id begins so, or that has that name. The
// error is for the model.
func (a Artifacts) Find(named string) (events.ArtifactCreated, error) {
	named = strings.TrimSpace(named)
	prefix := strings.ToLower(named)
	var found *events.ArtifactCreated
	for i := range a.Known {
		known := &a.Known[i]
		if known.Name != named && (len(prefix) < minPrefix || !strings.HasPrefix(string(known.Artifact), prefix)) {
			continue
		}
		if found != nil && found.Artifact != known.Artifact && known.Name != named {
			return events.ArtifactCreated{}, fmt.Errorf("the ids of several artifacts begin with %q; give more of it", named)
		}
		found = known
	}
	if found == nil || a.Open == nil {
		return events.ArtifactCreated{}, fmt.Errorf("there is no artifact %q; %s", named, a.listed())
	}
	return *found, nil
}

// listed names the newest files.
func (a Artifacts) listed() string {
	if len(a.Known) == 0 || a.Open == nil {
		return "there are none yet"
	}
	var names []string
	for _, known := range slices.Backward(a.Known) {
		name := known.Artifact.Short() + " (" + known.Name + ")"
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) == maxListed {
			break
		}
	}
	return "there are " + strings.Join(names, ", ")
}
