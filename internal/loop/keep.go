package loop

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/internal/chars"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/thread"
)

// Files keeps files for the thread of the run.
type Files interface {
	artifact.Store
	// Open gives the bytes of one.
	Open(ctx context.Context, id events.ArtifactID) (*io.SectionReader, error)
}

// maxResultFiles bounds the files of one result: with a line and perhaps an image for each they
// fit into maxResultParts.
const maxResultFiles = 15

// hintChars is kept of a result that is cut for how to read on.
const hintChars = 300

// artifacts are the files that a call can read.
func (l *Loop) artifacts(tx *thread.Tx) agent.Artifacts {
	if l.Files == nil {
		return agent.Artifacts{}
	}
	known := tx.Run.Thread().Artifacts
	if l.openFile == nil {
		l.openFile = l.Files.Open
	}
	return agent.Artifacts{Known: known[:len(known):len(known)], Open: l.openFile}
}

// folder is the run's own.
func (l *Loop) folder(tx *thread.Tx) (own agent.Folder) {
	if row := tx.Run.Started.Batch; row != nil && row.Folder != "" {
		own = agent.Folder{Root: l.FilesRoot, Path: row.Folder}
	}
	return own
}

// keeping puts what a result brings beside text into the store, before the result is a fact.
// A nil keeping has nothing to tell.
type keeping struct {
	loop    *Loop
	in      *agent.Invocation
	created []events.ArtifactCreated
	limits  []events.LimitReached
	// room is how many bytes the run may still keep, below 0 for any; imageRoom how many
	// of images the model may still be shown.
	room      int64
	imageRoom int
}

// keep puts the images and files of a result, and its text if that is longer than what the
// model is shown; the result then tells of them. The error is the store's.
func (l *Loop) keep(ctx context.Context, in *agent.Invocation, result *agent.Result) (*keeping, error) {
	images := slices.ContainsFunc(result.Parts, func(p events.Part) bool { return len(p.Bytes) > 0 })
	long := l.Spec.MaxResultChars > 0 && chars.Over(texts(result), l.Spec.MaxResultChars)
	switch {
	case l.Files == nil && len(result.Files) > 0:
		result.Parts = append(slices.Clone(result.Parts), textPart(fmt.Sprintf("[%d file left out: nothing keeps files here]", len(result.Files))))
		return nil, nil
	case l.Files == nil || len(result.Files) == 0 && !images && !long:
		return nil, nil
	}
	k := &keeping{loop: l, in: in, room: -1, imageRoom: maxImageBytes}
	err := l.Journal.Do(func(tx *thread.Tx) {
		if most := l.Spec.MaxArtifactBytes; most > 0 {
			k.room = max(0, most-tx.Run.ArtifactBytes)
		}
	})
	if err == nil {
		err = k.images(ctx, result)
	}
	if err == nil && long {
		err = k.text(ctx, result)
	}
	if err == nil {
		err = k.files(ctx, result)
	}
	return k, err
}

// texts is all text of a result.
func texts(result *agent.Result) string {
	all := make([]string, 0, 1+len(result.Parts))
	if result.Text != "" {
		all = append(all, result.Text)
	}
	for i := range result.Parts {
		if result.Parts[i].Type == events.PartText {
			all = append(all, result.Parts[i].Text)
		}
	}
	return strings.Join(all, "\n")
}

// put keeps one file; refusal says why it is not kept.
func (k *keeping) put(ctx context.Context, file agent.File) (created events.ArtifactCreated, refusal string, err error) {
	switch size := artifact.Size(&file); {
	case len(file.Data) > events.MaxArtifactBytes:
		return created, events.ErrArtifactSize.Error(), nil
	case k.room >= 0 && size > k.room:
		k.limits = append(k.limits, events.LimitReached{
			Limit: events.LimitMaxArtifactBytes, Value: float64(k.loop.Spec.MaxArtifactBytes), Used: float64(k.loop.Spec.MaxArtifactBytes - k.room + size),
			Consequence: "Further files are not kept, and the model is told so.",
		})
		return created, fmt.Sprintf("the files of a run may have %s together (%s)", megabytes(k.loop.Spec.MaxArtifactBytes), events.LimitMaxArtifactBytes), nil
	case k.room >= 0:
		k.room -= size
	}
	created, err = artifact.Keep(ctx, k.loop.Files, file, events.SourceTool)
	created.Tool, created.ModelCall, created.Index, created.CallID = k.in.Tool, k.in.Ref.ModelCall, k.in.Ref.Index, k.in.Ref.CallID
	if err == nil {
		k.created = append(k.created, created)
	}
	return created, "", err
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// images keeps the images of a result, which then names them.
func (k *keeping) images(ctx context.Context, result *agent.Result) error {
	result.Parts = slices.Clone(result.Parts)
	for i := range result.Parts[:min(len(result.Parts), maxResultParts)] {
		part := &result.Parts[i]
		if len(part.Bytes) == 0 {
			continue
		}
		*part = carried(*part, k.imageRoom)
		if part.Type != events.PartImage {
			continue
		}
		k.imageRoom -= len(part.Bytes)
		created, refusal, err := k.put(ctx, agent.File{Name: part.Name, MediaType: part.MediaType, Data: part.Bytes})
		if err != nil {
			return err
		}
		if refusal != "" {
			*part = leftOut(*part, refusal)
			continue
		}
		part.SHA256, part.Bytes = string(created.Artifact), nil
	}
	return nil
}

// text keeps the text of a result that is too long, and shows its beginning.
func (k *keeping) text(ctx context.Context, result *agent.Result) error {
	whole := texts(result)
	kept := whole[:min(len(whole), events.MaxArtifactBytes)]
	created, refusal, err := k.put(ctx, agent.File{Name: k.in.Tool + ".txt", MediaType: "text/plain", Data: []byte(kept)})
	if err != nil || refusal != "" {
		return err // it is cut as any
	}
	most := k.loop.Spec.MaxResultChars
	head, more := chars.Cut(whole, max(most-hintChars, 0))
	shown := chars.Count(head)
	k.limits = append(k.limits, events.LimitReached{
		Limit: events.LimitMaxToolResultChars, Value: float64(most), Used: float64(shown + more),
		Consequence: "The model reads such a result cut, and it says so. The whole is an artifact.",
	})
	hint := fmt.Sprintf("…\n[cut: %d of %d characters shown. The whole is artifact %s", shown, shown+more, created.Artifact.Short())
	if len(kept) < len(whole) {
		hint = fmt.Sprintf("…\n[cut: %d of %d characters shown. The first %s are artifact %s", shown, shown+more, megabytes(events.MaxArtifactBytes), created.Artifact.Short())
	}
	if k.loop.Spec.Tools.has(artifact.ReadTool) {
		hint += fmt.Sprintf("; %s reads on at offset %d", artifact.ReadTool, len(head))
	}
	result.Text = head + hint + "]"
	result.Parts = slices.DeleteFunc(result.Parts, func(p events.Part) bool { return p.Type == events.PartText })
	return nil
}

// files keeps the files of a result, which then tells of them and shows images.
func (k *keeping) files(ctx context.Context, result *agent.Result) error {
	for i, file := range result.Files {
		if i == maxResultFiles {
			result.Parts = append(result.Parts, textPart(fmt.Sprintf("[%d more files were left out]", len(result.Files)-i)))
			break
		}
		created, refusal, err := k.put(ctx, file)
		switch {
		case err != nil:
			return err
		case refusal != "":
			result.Parts = append(result.Parts, textPart(fmt.Sprintf("[%s: left out, %s]", artifact.Name(file.Name), refusal)))
			continue
		}
		result.Parts = append(result.Parts, textPart(artifact.Note(&created)))
		if image := carried(events.Part{Type: events.PartImage, MediaType: created.MediaType, Name: created.Name, Bytes: file.Data}, k.imageRoom); image.Type == events.PartImage {
			k.imageRoom -= len(file.Data)
			image.Bytes, image.SHA256 = nil, string(created.Artifact)
			result.Parts = append(result.Parts, image)
		}
	}
	result.Files = nil
	return nil
}

// tell puts into the log what was kept.
func (k *keeping) tell(tx *thread.Tx) {
	if k == nil {
		return
	}
	for _, limit := range k.limits {
		if !tx.Run.LimitMet(limit.Limit) {
			tx.Emit(k.loop.Spec.ID, k.loop.ID, limit)
		}
	}
	for _, created := range k.created {
		tx.Emit(k.loop.Spec.ID, k.loop.ID, created)
	}
}

// withFiles gives the request with the bytes of the images and PDFs that are kept beside the
// log. One that cannot be read is told of.
func (l *Loop) withFiles(ctx context.Context, req *llm.Request) *llm.Request {
	if l.Files == nil {
		return req
	}
	whole := req
	for i := range req.Messages {
		if !slices.ContainsFunc(req.Messages[i].Parts, isKept) {
			continue
		}
		if whole == req {
			copied := *req
			whole, copied.Messages = &copied, slices.Clone(req.Messages)
		}
		parts := slices.Clone(req.Messages[i].Parts)
		for j := range parts {
			if isKept(parts[j]) {
				parts[j] = l.loaded(ctx, parts[j])
			}
		}
		whole.Messages[i].Parts = parts
	}
	return whole
}

// isKept reports whether the part is an image or a PDF whose bytes are beside the log.
func isKept(p events.Part) bool {
	return (p.Type == events.PartImage || p.Type == events.PartDocument) && len(p.Bytes) == 0 && p.SHA256 != ""
}

func (l *Loop) loaded(ctx context.Context, p events.Part) events.Part {
	reader, err := l.Files.Open(ctx, events.ArtifactID(p.SHA256))
	if err == nil && reader.Size() > maxImageBytes {
		return leftOut(p, "it is too large")
	}
	if err == nil {
		p.Bytes, err = io.ReadAll(reader)
	}
	if err != nil {
		return leftOut(p, err.Error())
	}
	return p
}
