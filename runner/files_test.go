package runner_test

import (
	"context"
	"encoding/base64"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/events/sqlite"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
	"github.com/convene-run/convene/runner"
	"github.com/convene-run/convene/team"
)

// exporting is a tool that brings a file of so many bytes, and counts its calls.
func exporting(size int, calls *atomic.Int64) agent.Tool {
	return agent.Func(llm.Tool{Name: "export", Description: "Exports the numbers."}, events.EffectIdempotent,
		func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
			calls.Add(1)
			return agent.Result{Text: "Exported.", Files: []agent.File{{Name: "numbers.csv", MediaType: "text/csv", Data: []byte(strings.Repeat("7", size))}}}, nil
		})
}

// export is the script of a run whose specialist exports and reads the file.
func export(t *testing.T) *llmtest.Scripted {
	return llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("export", args{})), llmtest.Calls("", llmtest.Call("read_artifact", args{"artifact": "numbers.csv"})),
			llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Written")))
}

// A file that a tool brings is in the store before an event names it, and who has such a tool
// can read it.
func TestFilesOfTools(t *testing.T) {
	log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "convene.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	var calls atomic.Int64
	client := export(t)
	p := playWith(t, runner.Config{Log: log, Models: oneClient{client}, Tools: []agent.Tool{exporting(600_000, &calls)}}, pair())
	p.completed(t)
	require.Equal(t, []string{"export", "read_artifact"}, offered(client.Requests(alpha)[0])[5:])
	created := p.of(events.KindArtifactCreated)
	require.Len(t, created, 1)
	result := p.of(events.KindToolCall)
	at := created[0].Seq
	require.Equal(t, "export", result[1].Data.(events.ToolCallDone).Tool)
	require.Equal(t, at+1, result[1].Seq)
	require.Contains(t, p.results("read_artifact")[0], "bytes 0 to 31400 of 600000")

	a := created[0].Data.(events.ArtifactCreated)
	reader, err := log.OpenArtifact(t.Context(), created[0].Key(), a.Artifact)
	require.NoError(t, err)
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, a.Artifact, events.ArtifactOf(data))
}

// A process that dies between the bytes and the event leaves nothing that names them; the
// call is repeated, and the bytes are the same.
func TestDeathBetweenFileAndEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "convene.db")
	log, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	var calls atomic.Int64
	dead := &dyingAt{Log: log, kind: events.KindArtifactCreated}
	first := llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1))),
		llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("export", args{}))))
	config := runner.Config{Log: dead, Models: oneClient{first}, Tools: []agent.Tool{exporting(600_000, &calls)}}
	run, err := newWith(t, config).Start(t.Context(), runner.Job{Request: "Go", Team: pair()})
	require.NoError(t, err)
	_, err = run.Wait()
	require.ErrorIs(t, err, errDied)
	named, err := log.Read(t.Context(), run.Key(), 0, 0, events.KindArtifactCreated)
	require.NoError(t, err)
	require.Empty(t, named)

	config.Log = log
	config.Models = oneClient{llmtest.Script(t,
		llmtest.Agent(boss, llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("a", "A"), complete(1)), llmtest.Says("Written")))}
	run, err = newWith(t, config).Resume(t.Context(), events.LocalTenant, run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, run)
	p.completed(t)
	require.Len(t, p.of(events.KindArtifactCreated), 1)
	require.Equal(t, int64(2), calls.Load())
	report, err := log.Check(t.Context(), func(d sqlite.Damage) { t.Error(d) })
	require.NoError(t, err)
	require.Equal(t, 1, report.Artifacts)
}

// dyingAt is a log whose process dies before the first event of a kind is durable.
type dyingAt struct {
	events.Log
	kind events.Kind
	died atomic.Bool
}

func (d *dyingAt) Append(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	if d.dies(envs) {
		return errDied
	}
	return d.Log.Append(ctx, key, epoch, after, envs)
}

func (d *dyingAt) AppendLast(ctx context.Context, key events.ThreadKey, epoch events.Epoch, after events.Seq, envs []events.Envelope) error {
	if d.dies(envs) {
		return errDied
	}
	return d.Log.AppendLast(ctx, key, epoch, after, envs)
}

func (d *dyingAt) dies(envs []events.Envelope) bool {
	for _, env := range envs {
		if env.Data.Kind() == d.kind {
			d.died.Store(true)
		}
	}
	return d.died.Load()
}

func (d *dyingAt) Close() error { return nil }

// The files of a run are bounded together: what fits exactly is kept, what does not is told of.
func testMaxArtifactBytes(t *testing.T) {
	var calls atomic.Int64
	for size, kept := range map[int]int{1000: 1, 1001: 0} {
		p := playWith(t, runner.Config{
			Log: events.NewMemory(), Tools: []agent.Tool{exporting(size, &calls)}, Models: oneClient{llmtest.Script(t,
				llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
				llmtest.Agent(alpha, llmtest.Calls("", llmtest.Call("export", args{}), write("a", "A"), complete(1)), llmtest.Says("Written")))},
		}, pair(func(l *team.Limits) { l.MaxArtifactBytes = 1000 }))
		require.Len(t, p.of(events.KindArtifactCreated), kept)
		if kept == 0 {
			require.InDelta(t, 1001, p.met(t, events.LimitMaxArtifactBytes).Used, 0)
			require.Contains(t, p.results("export")[0], "left out")
		}
	}
}

// Files that come with a request are kept before the run's first event, which those follow
// that name them; they are no part of a message.
func TestFilesOfARequest(t *testing.T) {
	log := events.NewMemory()
	client := llmtest.Script(t, llmtest.Agent(boss, llmtest.Says("Done")))
	r := newWith(t, runner.Config{Log: log, Models: oneClient{client}})
	menu := agent.File{Name: "/home/ada/menu.pdf", MediaType: "application/pdf", Data: []byte("%PDF"), Pages: []string{"Soups", "Fish"}}
	run, err := r.Start(t.Context(), runner.Job{Request: "Read it", Team: pair(), Files: []agent.File{menu}})
	require.NoError(t, err)
	p := ended(t, log, run)
	require.Equal(t, events.KindWorkflowStarted, p.envs[0].Data.Kind())
	created := p.envs[1].Data.(events.ArtifactCreated)
	require.Equal(t, "menu.pdf", created.Name)
	require.Equal(t, events.SourceFile, created.Source)
	require.Equal(t, 2, created.Pages)
	reader, err := log.OpenArtifact(t.Context(), run.Key(), created.Text)
	require.NoError(t, err)
	text, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, "Soups\fFish", string(text))

	_, err = r.Start(t.Context(), runner.Job{Request: "Read it", Team: pair(), Files: []agent.File{{Data: make([]byte, events.MaxArtifactBytes+1)}}})
	var input *runner.InputError
	require.ErrorAs(t, err, &input)
	_, err = r.Send(t.Context(), runner.Job{Request: "Read it", Team: pair(), Files: []agent.File{menu}})
	require.ErrorAs(t, err, &input)
}

// The images and short PDFs that come with a request are shown to every agent, in each of its requests and
// byte for byte the same after a resume; the log has their names alone.
func TestImagesOfARequest(t *testing.T) {
	log := events.NewMemory()
	png, text := []byte("\x89PNG\r\n\x1a\nthe photo"), []byte("notes")
	pdf := agent.File{Name: "menu.pdf", MediaType: "application/pdf", Data: []byte("%PDF"), Pages: []string{"Soups", "Fish"}}
	book := agent.File{Name: "book.pdf", MediaType: "application/pdf", Data: []byte("%PDF book"), Pages: make([]string, 21)}
	files := []agent.File{
		pdf, book, {Name: "photo.png", MediaType: "image/png", Data: png}, {Name: "notes.txt", Data: text}, {Name: "drawing.svg", MediaType: "image/svg+xml", Data: []byte("<svg>")},
		{Name: "huge.png", MediaType: "image/png", Data: append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 4<<20)...)},
	}
	first := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", create("alpha")), llmtest.Says("late").After(time.Hour)))
	run, err := newWith(t, runner.Config{Log: log, Models: oneClient{first}}).Start(t.Context(), runner.Job{Request: "What is on it?", Team: pair(), Files: files})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(first.Requests(boss)) == 2 }, time.Minute, time.Millisecond)
	run.Halt()
	_, err = run.Wait()
	require.NoError(t, err)

	then := llmtest.Script(t, llmtest.Agent(boss, llmtest.Calls("", dispatch("alpha", 1)), llmtest.Says("Done")),
		llmtest.Agent(alpha, llmtest.Calls("", write("s", "A"), complete(1)), llmtest.Says("Written")))
	run, err = newWith(t, runner.Config{Log: log, Models: oneClient{then}}).Resume(t.Context(), events.LocalTenant, run.ID(), runner.Terms{})
	require.NoError(t, err)
	p := ended(t, log, run)
	p.completed(t)
	requests := slices.Concat(first.Requests(boss), then.Requests(boss), then.Requests(alpha))
	require.Len(t, requests, 6)
	for _, req := range requests {
		opening := req.Messages[1]
		require.Equal(t, events.RoleUser, opening.Role)
		require.Len(t, opening.Parts, 2)
		require.Equal(t, events.PartDocument, opening.Parts[0].Type)
		require.Equal(t, pdf.Data, opening.Parts[0].Bytes)
		require.Equal(t, events.PartImage, opening.Parts[1].Type)
		require.Equal(t, png, opening.Parts[1].Bytes)
	}
	for _, env := range p.envs {
		body, err := events.Encode(env)
		require.NoError(t, err)
		require.NotContains(t, string(body), base64.StdEncoding.EncodeToString(png))
	}
}
