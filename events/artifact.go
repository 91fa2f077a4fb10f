package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// KindArtifactCreated is of an event about a file that is kept beside the log.
const KindArtifactCreated Kind = "artifact_created"

// MaxArtifactBytes bounds one artifact: more than any document that people hand around, little
// enough to be held in memory while it is written.
const MaxArtifactBytes = 100 << 20

// ErrArtifactSize is for more bytes than [MaxArtifactBytes].
var ErrArtifactSize = errors.New("a file may have 100 MB at most")

// ArtifactID is the SHA-256 of an artifact's bytes, in hexadecimal digits.
type ArtifactID string

// ArtifactOf gives the id of the bytes.
func ArtifactOf(data []byte) ArtifactID {
	sum := sha256.Sum256(data)
	return ArtifactID(hex.EncodeToString(sum[:]))
}

// Check refuses what is no id of an artifact.
func (id ArtifactID) Check() error {
	if sum, err := hex.DecodeString(string(id)); err != nil || len(sum) != sha256.Size {
		return errors.New("not an artifact: its id is a SHA-256 of 64 hexadecimal digits")
	}
	return nil
}

// Short is enough of the id for people and models to name the artifact by.
func (id ArtifactID) Short() string { return string(id[:min(12, len(id))]) }

// Artifacts keeps files beside the events of threads: the same bytes once, however many
// threads have them. They are there as long as a thread is that has them.
type Artifacts interface {
	// PutArtifact keeps the bytes for a thread, durably once it returns. Whoever claimed the
	// thread then appends an [ArtifactCreated] that names them; what no event names is
	// dropped after the claim. data belongs to the log from then on. [ErrFenced] means that
	// the epoch is no longer the newest, [ErrArtifactSize] that data is too long.
	PutArtifact(ctx context.Context, key ThreadKey, epoch Epoch, data []byte) (ArtifactID, error)

	// OpenArtifact gives bytes that the thread has: those it was given, and those that its
	// events name if the log has them from another thread. Others are [ErrNotFound]. What is
	// read is checked: bytes that are not what was put are [ErrDamaged]. The reader is safe
	// for concurrent ReadAt, needs no closing, and ends with ctx.
	OpenArtifact(ctx context.Context, key ThreadKey, id ArtifactID) (*io.SectionReader, error)
}

// ArtifactSource says where an artifact comes from.
type ArtifactSource string

// The sources of artifacts.
const (
	SourceTool ArtifactSource = "tool" // the result of a tool call
	SourceFile ArtifactSource = "file" // a file that came with the request
)

// ArtifactCreated says that a file is kept beside the log, where it comes from, and what it is.
type ArtifactCreated struct {
	fact
	Artifact  ArtifactID `json:"artifact"`
	Name      string     `json:"name"`
	MediaType string     `json:"media_type"`
	SizeBytes int64      `json:"size_bytes"`
	// Text is the artifact with the text of this one, in UTF-8, if it is no text itself. A form
	// feed stands between two pages.
	Text ArtifactID `json:"text,omitempty"`
	// Pages is how many pages Text, or the artifact itself, has; 0 where it is not divided.
	Pages  int            `json:"pages,omitempty"`
	Source ArtifactSource `json:"source"`
	// Origin is the URL that the artifact was loaded from; "" where there is none.
	Origin string `json:"origin,omitempty"`
	// Note says in words what a reader should know, such as that a scan has no text.
	Note string `json:"note,omitempty"`
	// Tool, ModelCall, Index and CallID are of the call whose result it is.
	Tool      string      `json:"tool,omitempty"`
	ModelCall ModelCallID `json:"model_call_id,omitempty"`
	Index     int         `json:"index,omitempty"`
	CallID    CallID      `json:"call_id,omitempty"`
}

// Kind implements [Event].
func (ArtifactCreated) Kind() Kind { return KindArtifactCreated }

// Readable is the artifact whose bytes are the text of this one; "" where it has none.
func (a *ArtifactCreated) Readable() ArtifactID {
	if a.Text == "" && TextType(a.MediaType) {
		return a.Artifact
	}
	return a.Text
}

// TextType reports whether bytes of the media type are text as they stand.
func TextType(mediaType string) bool {
	base, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	base = strings.TrimSpace(base)
	switch base {
	case "application/json", "application/xml", "application/yaml", "application/x-ndjson", "application/jsonl", "application/javascript", "application/sql":
		return true
	}
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml") && base != "image/svg+xml"
}

// Part gives the artifact as a part of a result.
func (a *ArtifactCreated) Part() Part {
	return Part{Type: PartArtifact, Name: a.Name, MediaType: a.MediaType, SHA256: string(a.Artifact), SizeBytes: a.SizeBytes}
}

// Named are the artifacts that an event names.
func Named(event Event) []ArtifactID {
	created, ok := event.(ArtifactCreated)
	switch {
	case !ok || created.Artifact == "":
		return nil
	case created.Text == "":
		return []ArtifactID{created.Artifact}
	}
	return []ArtifactID{created.Artifact, created.Text}
}

// DamagedArtifactError names bytes that are not what was put. It is an [ErrDamaged].
type DamagedArtifactError struct {
	Artifact ArtifactID
	// Offset is where the damaged stretch begins.
	Offset int64
	// Problem says what is wrong with it.
	Problem string
}

func (e *DamagedArtifactError) Error() string {
	return fmt.Sprintf("artifact %s is damaged at byte %d: %s", e.Artifact, e.Offset, e.Problem)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamagedArtifactError) Is(target error) bool { return target == ErrDamaged }
