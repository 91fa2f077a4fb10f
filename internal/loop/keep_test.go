package loop_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/agent"
	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/internal/artifact"
	"github.com/convene-run/convene/internal/loop"
	"github.com/convene-run/convene/llm"
	"github.com/convene-run/convene/llm/llmtest"
)

// shelf keeps files in memory; err, if set, fails every put.
type shelf struct {
	log   *events.Memory
	key   events.ThreadKey
	epoch events.Epoch
	err   error
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{log: events.NewMemory(), key: events.ThreadKey{Tenant: events.LocalTenant, Thread: "t"}}
	var err error
	s.epoch, err = s.log.Claim(t.Context(), s.key, "tester", false)
	require.NoError(t, err)
	return s
}

func (s *shelf) Put(ctx context.Context, data []byte) (events.ArtifactID, error) {
	if s.err != nil {
		return "", s.err
	}
	return s.log.PutArtifact(ctx, s.key, s.epoch, data)
}

func (s *shelf) Open(ctx context.Context, id events.ArtifactID) (*io.SectionReader, error) {
	return s.log.OpenArtifact(ctx, s.key, id)
}

// bringing is a tool with that result.
func bringing(result agent.Result) agent.Tool {
	return agent.Func(llm.Tool{Name: "fetch"}, events.EffectIdempotent, func(context.Context, agent.Invocation, struct{}) (agent.Result, error) {
		return result, nil
	})
}

// fetched drives an agent that calls the tool, then what else the steps call.
func fetched(t *testing.T, result agent.Result, change func(*loop.Loop), steps ...llmtest.Step) (*journal, *llmtest.Scripted) {
	t.Helper()
	j := newJournal(t)
	steps = append([]llmtest.Step{llmtest.Calls("", call("fetch"))}, append(steps, llmtest.Says("Done"))...)
	l, script := newLoop(t, j, []agent.Tool{bringing(result), artifact.Reader()}, steps...)
	l.Files = newShelf(t)
	if change != nil {
		change(l)
	}
	require.NoError(t, l.Drive(t.Context()))
	return j, script
}

func last(script *llmtest.Scripted, request int) events.Message {
	messages := script.Requests("")[request].Messages
	return messages[len(messages)-1]
}

// A file is kept before the result is in the log, the model is told of it and reads its
// pages.
func TestFilesOfAResult(t *testing.T) {
	file := agent.File{Name: "docs/menu.pdf", MediaType: "application/pdf", Data: []byte("%PDF"), Pages: []string{"Soups", "Fish\fand more", ""}, Origin: "https://example.com/menu.pdf"}
	j, script := fetched(t, agent.Result{Text: "Here:", Files: []agent.File{file}}, nil,
		llmtest.Calls("", llmtest.Call("read_artifact", map[string]any{"artifact": "menu.pdf", "page": 2})))
	created := of[events.ArtifactCreated](j)[0]
	require.Equal(t, events.ArtifactCreated{
		Artifact: events.ArtifactOf([]byte("%PDF")), Name: "menu.pdf", MediaType: "application/pdf", SizeBytes: 4,
		Text: events.ArtifactOf([]byte("Soups\fFish\nand more\f")), Pages: 3, Source: events.SourceTool, Origin: "https://example.com/menu.pdf",
		Tool: "fetch", ModelCall: "f.1", CallID: created.CallID,
	}, created)
	require.NotEmpty(t, created.CallID)
	require.Equal(t, "Here:\n[artifact "+created.Artifact.Short()+", menu.pdf, application/pdf, 0.0 kB, 3 pages]", of[events.ToolCallDone](j)[0].Result)
	require.Equal(t, "Artifact "+created.Artifact.Short()+" (menu.pdf), page 2 of 3, bytes 0 to 13 of 13:\n\nFish\nand more\n\n[end of the page; the next is 3]",
		last(script, 2).Content)
}

// An image is kept beside the log, and every later request has its bytes; one that is lost is
// told of.
func TestImagesAreKeptBesideTheLog(t *testing.T) {
	for name, result := range map[string]agent.Result{
		"part": {Parts: []events.Part{{Type: events.PartImage, Bytes: []byte(png)}}},
		"file": {Files: []agent.File{{Name: "a.png", Data: []byte(png)}}},
	} {
		t.Run(name, func(t *testing.T) {
			j, script := fetched(t, result, nil)
			id := string(events.ArtifactOf([]byte(png)))
			done := of[events.ToolCallDone](j)[0]
			logged := done.Parts[len(done.Parts)-1]
			require.Empty(t, logged.Bytes)
			require.Equal(t, id, logged.SHA256)
			sent := last(script, 1).Parts
			require.Equal(t, []byte(png), sent[len(sent)-1].Bytes)
			require.Len(t, of[events.ArtifactCreated](j), 1)
		})
	}
	_, script := fetched(t, agent.Result{Parts: []events.Part{{Type: events.PartImage, MediaType: "image/png", SHA256: strings.Repeat("0", 64)}}}, nil)
	require.Contains(t, last(script, 1).Parts[0].Text, "left out, artifact 000000000000 of thread=t: not found]")
}

// A text that is too long is kept whole; its beginning says how to read on, up to the end.
func TestLongResultIsAnArtifact(t *testing.T) {
	whole := strings.Repeat("Zürich 8000, ", 1000) + "the end"
	id := events.ArtifactOf([]byte(whole))
	read := func(offset int) llmtest.Step {
		return llmtest.Calls("", llmtest.Call("read_artifact", map[string]any{"artifact": id.Short(), "offset": offset}))
	}
	j, script := fetched(t, agent.Result{Text: whole}, nil, read(4089), read(13_900), read(14_000), read(20_000))
	done := of[events.ToolCallDone](j)
	require.Less(t, len([]rune(done[0].Result)), 4096)
	require.True(t, strings.HasPrefix(done[0].Result, whole[:4000]))
	require.Contains(t, done[0].Result, "…\n[cut: 3796 of 13007 characters shown. The whole is artifact "+id.Short()+"; read_artifact reads on at offset 4088]")
	require.Contains(t, last(script, 2).Content, "bytes 4089 to")
	require.Contains(t, done[1].Result, "[read on with offset ")
	require.True(t, strings.HasSuffix(done[2].Result, "the end\n\n[end]"))
	require.True(t, done[4].Failed)
	require.Contains(t, done[4].Result, "it ends at offset 14007")
	require.Len(t, of[events.LimitReached](j), 1)
	require.Len(t, of[events.ArtifactCreated](j), 1)
}

// What has no room is left out, and the model is told why.
func TestFilesAreBounded(t *testing.T) {
	big := agent.File{Name: "big.csv", MediaType: "text/csv", Data: []byte(strings.Repeat("1,2\n", 300))}
	j, _ := fetched(t, agent.Result{Files: []agent.File{{Name: "small.csv", Data: []byte("1")}, big, {Name: "small.csv", Data: []byte("2")}}}, func(l *loop.Loop) {
		l.Spec.MaxArtifactBytes = 1000
	})
	require.Len(t, of[events.ArtifactCreated](j), 2)
	require.Contains(t, of[events.ToolCallDone](j)[0].Result, "[big.csv: left out, the files of a run may have 0 MB together (max_artifact_bytes)]")
	require.Equal(t, events.LimitMaxArtifactBytes, of[events.LimitReached](j)[0].Limit)

	j, _ = fetched(t, agent.Result{Files: make([]agent.File, 40)}, nil)
	require.Contains(t, of[events.ToolCallDone](j)[0].Result, "[25 more files were left out]")

	j, _ = fetched(t, agent.Result{Files: []agent.File{{Name: "huge", Data: make([]byte, events.MaxArtifactBytes+1)}}}, nil)
	require.Contains(t, of[events.ToolCallDone](j)[0].Result, "[huge: left out, a file may have 100 MB at most]")
}

// A store that fails ends the run, before anything names what it does not have.
func TestFilesThatCannotBeKept(t *testing.T) {
	j := newJournal(t)
	l, _ := newLoop(t, j, []agent.Tool{bringing(agent.Result{Files: []agent.File{{Name: "a", Data: []byte("a")}}})}, llmtest.Calls("", call("fetch")))
	broken := errors.New("the disk is full")
	shelf := newShelf(t)
	shelf.err = broken
	l.Files = shelf
	require.ErrorIs(t, l.Drive(t.Context()), broken)
	require.Empty(t, of[events.ArtifactCreated](j))
	require.Empty(t, of[events.ToolCallDone](j))
}

// Without a place for files they are told of.
func TestFilesWithoutAPlace(t *testing.T) {
	j, _ := fetched(t, agent.Result{Text: "Here:", Files: []agent.File{{Name: "a.csv", Data: []byte("a")}}}, func(l *loop.Loop) { l.Files = nil })
	require.Equal(t, "Here:\n[1 file left out: nothing keeps files here]", of[events.ToolCallDone](j)[0].Result)
}

// The tool says what it cannot read.
func TestReadArtifactRefuses(t *testing.T) {
	pdf := agent.File{Name: "scan.pdf", MediaType: "application/pdf", Data: []byte("%PDF-1.4"), Note: "a scan without text"}
	note := agent.File{Name: "note.txt", Data: []byte("Hello\xff")}
	for want, arguments := range map[string]map[string]any{
		"there is no artifact \"abc\"; there are ":                           {"artifact": "abc"},
		"(scan.pdf, application/pdf) has no text to read: a scan without te": {"artifact": "scan.pdf"},
		"has 0 pages; there is no page 2":                                    {"artifact": "note.txt", "page": 2},
		"page counts from 1, offset from 0":                                  {"artifact": "note.txt", "offset": -1},
		"Hello\uFFFD":                                                        {"artifact": "note.txt"},
	} {
		j, _ := fetched(t, agent.Result{Files: []agent.File{pdf, note}}, nil, llmtest.Calls("", llmtest.Call("read_artifact", arguments)))
		require.Contains(t, of[events.ToolCallDone](j)[1].Result, want)
	}
}
