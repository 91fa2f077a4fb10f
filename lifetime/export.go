package lifetime

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/convene-run/convene/events"
)

// Manifest is the file manifest.json of an export: what is in it, and of whom.
type Manifest struct {
	Tenant   events.TenantID `json:"tenant_id"`
	User     string          `json:"user_id"`
	Exported time.Time       `json:"exported_at"`
	Threads  []ExportedLog   `json:"threads"`
	Files    []ExportedFile  `json:"artifacts"`
}

// String counts in words, for an audit.
func (m *Manifest) String() string {
	return counted(len(m.Threads), "thread") + ", " + counted(len(m.Files), "file")
}

// ExportedLog is the log of a thread in an export.
type ExportedLog struct {
	// File is its name in the archive: one event on a line, which convene replay plays. "" where
	// no event can be read.
	File    string          `json:"file,omitempty"`
	Thread  events.ThreadID `json:"thread_id"`
	Started time.Time       `json:"started_at"`
	Runs    int             `json:"runs"`
	Events  int             `json:"events"`
	// Damaged are events that cannot be read, and so are missing in the file.
	Damaged []events.Damage `json:"damaged,omitempty"`
}

// ExportedFile is a file that the events of a thread name.
type ExportedFile struct {
	// File is its name in the archive; "" where the store does not have the bytes.
	File      string            `json:"file,omitempty"`
	Artifact  events.ArtifactID `json:"artifact"`
	Name      string            `json:"name"`
	MediaType string            `json:"media_type"`
	SizeBytes int64             `json:"size_bytes"`
	Thread    events.ThreadID   `json:"thread_id"`
}

// Export writes all threads of a user, as far as they have come, into a ZIP archive: each
// thread's log, the files that its events name, and a [Manifest], which it returns. original
// keeps what [events.ForViewers] leaves out. Nothing is written for a user without threads,
// [ErrNobody]; on any other error what was written is no whole archive.
func Export(ctx context.Context, log events.Log, tenant events.TenantID, user string, original bool, w io.Writer) (*Manifest, error) {
	threads, err := threadsOf(ctx, log, tenant, user)
	if err != nil {
		return nil, err
	}
	if len(threads) == 0 {
		return nil, fmt.Errorf("export user=%q: %w", user, ErrNobody)
	}
	x := &export{
		log: log, original: original, archive: zip.NewWriter(w), named: map[events.ArtifactID]string{},
		manifest: Manifest{Tenant: tenant.OrLocal(), User: user, Exported: time.Now().UTC().Truncate(time.Second), Files: []ExportedFile{}},
	}
	for _, thread := range threads {
		if err := x.thread(ctx, thread); err != nil {
			return nil, fmt.Errorf("export user=%q thread=%s: %w", user, thread.key.Thread, err)
		}
	}
	file, err := x.create("manifest.json")
	if err != nil {
		return nil, err
	}
	lines := json.NewEncoder(file)
	lines.SetIndent("", "  ")
	return &x.manifest, errors.Join(lines.Encode(x.manifest), x.archive.Close())
}

// export is one under way.
type export struct {
	log      events.Log
	original bool
	archive  *zip.Writer
	manifest Manifest
	// named has the artifacts in the archive by their files.
	named map[events.ArtifactID]string
}

// create begins a file of the archive.
func (x *export) create(name string) (io.Writer, error) {
	return x.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: x.manifest.Exported})
}

// thread writes the log of a thread, then its files. A thread that was removed meanwhile is
// left out.
func (x *export) thread(ctx context.Context, thread *whole) error {
	line := ExportedLog{
		File:   fmt.Sprintf("threads/%05d.jsonl", len(x.manifest.Threads)+1), // ids can be any text
		Thread: thread.key.Thread, Started: thread.from, Runs: thread.runs,
	}
	var file io.Writer
	var created []events.ArtifactCreated
	for after, more := events.Seq(0), true; more; {
		bodies, damaged, err := events.ReadSound(ctx, x.log, thread.key, after, page)
		if err == nil && file == nil && len(bodies) > 0 {
			file, err = x.create(line.File)
		}
		if err != nil {
			return err
		}
		for _, event := range bodies {
			body := event.Body
			if !x.original {
				body = events.ForViewers(body)
			}
			if _, err := fmt.Fprintf(file, "%s\n", body); err != nil {
				return err
			}
			after = event.Seq
			if events.EncodedKind(event.Body) == events.KindArtifactCreated {
				env, err := events.Decode(event.Body)
				if err != nil {
					return err
				}
				created = append(created, env.Data.(events.ArtifactCreated))
			}
		}
		for i := range damaged {
			line.Damaged = append(line.Damaged, *damaged[i].Note())
			after = max(after, damaged[i].Seq, damaged[i].Through)
		}
		line.Events += len(bodies)
		more = len(bodies)+len(damaged) > 0 // a page may also end at a number of bytes
	}
	if file == nil {
		line.File = ""
	}
	if line.Events+len(line.Damaged) > 0 {
		x.manifest.Threads = append(x.manifest.Threads, line)
	}
	for _, artifact := range created {
		if err := x.files(ctx, thread.key, artifact); err != nil {
			return err
		}
	}
	return nil
}

// files writes what an event of a thread names.
func (x *export) files(ctx context.Context, key events.ThreadKey, artifact events.ArtifactCreated) error {
	for _, id := range events.Named(artifact) {
		file := ExportedFile{Artifact: id, Name: artifact.Name, MediaType: artifact.MediaType, SizeBytes: artifact.SizeBytes, Thread: key.Thread}
		if id != artifact.Artifact {
			file.Name, file.MediaType = artifact.Name+".txt", "text/plain"
		}
		content, err := x.log.OpenArtifact(ctx, key, id)
		if err == nil {
			file.SizeBytes = content.Size()
			file.File, err = x.file(id, content)
		} else if errors.Is(err, events.ErrNotFound) {
			err = nil // the manifest says that the bytes are missing
		}
		if err != nil {
			return err
		}
		x.manifest.Files = append(x.manifest.Files, file)
	}
	return nil
}

// file writes the bytes of an artifact, unless they are there, and gives their name.
func (x *export) file(id events.ArtifactID, content io.Reader) (name string, err error) {
	if name = x.named[id]; name != "" {
		return name, nil
	}
	name = "artifacts/" + string(id)
	file, err := x.create(name)
	if err == nil {
		_, err = io.Copy(file, content)
	}
	x.named[id] = name
	return name, err
}
