package lifetime_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-run/convene/events"
	"github.com/convene-run/convene/lifetime"
	"github.com/convene-run/convene/web"
)

// people have a store together: Ann of acme with an ended run, a conversation and a parked run,
// Bob of acme, in whose thread Ann speaks and who has a file that she has too, and Ann of globex.
type people struct {
	anns, others []events.ThreadKey
	// own is a file of Ann's alone, shared one that Bob has as well.
	own, shared events.ArtifactID
}

const (
	annsWords = "marker-of-ann"
	annsFile  = "file-of-ann"
	inCommon  = "file-of-both"
	toBob     = "said-to-bob"
	otherAnns = "marker-of-globex"
)

func settle(t *testing.T, log events.Log) (p people) {
	t.Helper()
	now := time.Now()
	add := func(to *[]events.ThreadKey, s spec) []events.ArtifactID {
		s.at = now.Add(time.Duration(len(*to)) * time.Second) // so that ids sort
		key, files := s.write(t, log)
		*to = append(*to, key)
		return files
	}
	begins := func(user, words string) events.Event {
		return events.WorkflowStarted{Message: words, UserID: user, Team: "trip"}
	}
	files := add(&p.anns, spec{tenant: "acme", files: []string{annsFile, inCommon}, data: append([]events.Event{begins("ann", annsWords)}, ended(annsWords)...)})
	p.own, p.shared = files[0], files[1]
	add(&p.anns, spec{tenant: "acme", data: append([]events.Event{
		events.UserMessage{Content: annsWords, MessageID: "m1", UserID: "ann"},
		events.WorkflowStarted{Message: annsWords, UserID: "ann", Team: "trip", MessageID: "m1"},
	}, ended(annsWords)...)})
	add(&p.anns, spec{tenant: "acme", data: []events.Event{begins("ann", annsWords), events.RunSuspended{AwaitingInput: true}}})
	add(&p.others, spec{tenant: "acme", files: []string{inCommon}, data: append([]events.Event{
		begins("bob", "bob's own"), events.UserMessage{Content: toBob, MessageID: "m2", UserID: "ann"},
	}, ended("to bob")...)})
	add(&p.others, spec{tenant: "globex", data: append([]events.Event{begins("ann", otherAnns)}, ended(otherAnns)...)})
	add(&p.others, spec{tenant: "acme", data: append([]events.Event{begins("", "nobody's")}, ended("nobody's")...)})
	return p
}

// Proves R60: what is of a user goes as a whole, down to the bytes of the file, and nothing else does: not
// what she said in threads of others, not a file that another thread has, not her namesake.
func TestErase(t *testing.T) {
	log := newStore(t)
	p := settle(t, log)
	// Pages that were split and rows that were written again leave copies behind.
	for i := range 40 {
		spec{tenant: "acme", at: time.Now(), data: append([]events.Event{
			events.WorkflowStarted{Message: fmt.Sprint(annsWords, i), UserID: "ann", Team: "trip"},
		}, ended(fmt.Sprint(annsWords, i))...)}.write(t, log)
	}
	for _, mark := range []string{annsWords, annsFile, inCommon, toBob, otherAnns} {
		require.True(t, bytes.Contains(log.bytes(t), []byte(mark)), mark)
	}
	erased, err := lifetime.Erase(t.Context(), log, "acme", "ann")
	require.NoError(t, err)
	require.Equal(t, lifetime.Erased{Threads: 43, Runs: 43}, erased)
	_, _, err = log.Compact(t.Context())
	require.NoError(t, err)

	all := log.bytes(t)
	for _, mark := range []string{annsWords, annsFile} {
		require.False(t, bytes.Contains(all, []byte(mark)), mark)
	}
	for _, mark := range []string{inCommon, toBob, otherAnns} {
		require.True(t, bytes.Contains(all, []byte(mark)), mark)
	}
	for _, key := range p.anns {
		require.False(t, exists(t, log, key))
	}
	for _, key := range p.others {
		require.True(t, exists(t, log, key))
	}
	content, err := log.OpenArtifact(t.Context(), p.others[0], p.shared)
	require.NoError(t, err)
	text, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, inCommon, string(text))
	_, err = log.OpenArtifact(t.Context(), p.anns[0], p.own)
	require.ErrorIs(t, err, events.ErrNotFound)

	_, err = lifetime.Erase(t.Context(), log, "acme", "ann")
	require.ErrorIs(t, err, lifetime.ErrNobody)
	_, err = lifetime.Erase(t.Context(), log, "acme", "")
	require.ErrorContains(t, err, "name the user")
	require.True(t, exists(t, log, p.others[2]), "what is nobody's stays")
}

// While somebody drives a run of the user nothing is erased.
func TestEraseRefusesWhatIsLive(t *testing.T) {
	log := events.NewMemory()
	p := settle(t, log)
	epoch, err := log.Claim(t.Context(), p.anns[2], "server 7", false)
	require.NoError(t, err)
	erased, err := lifetime.Erase(t.Context(), log, "acme", "ann")
	var live *lifetime.LiveError
	require.ErrorAs(t, err, &live)
	require.Len(t, live.Runs, 1)
	require.ErrorContains(t, err, "driven by server 7")
	require.ErrorContains(t, err, "then erase again")
	require.Zero(t, erased)
	for _, key := range p.anns {
		require.True(t, exists(t, log, key))
	}
	require.NoError(t, log.Release(t.Context(), p.anns[2], epoch))
	erased, err = lifetime.Erase(t.Context(), log, "acme", "ann")
	require.NoError(t, err)
	require.Equal(t, lifetime.Erased{Threads: 3, Runs: 3}, erased)
}

// An export has the user's logs, which are read again, and files; and nothing of others.
func TestExport(t *testing.T) {
	log := newStore(t)
	p := settle(t, log)
	kept := spec{tenant: "acme", at: time.Now().Add(time.Minute), data: append([]events.Event{
		events.WorkflowStarted{Message: "hello", UserID: "ann", Team: "trip"},
		events.ValuesReplaced{Values: []events.ReplacedValue{{Placeholder: "[EMAIL_1]", Original: "ann@example.org"}}},
	}, ended("done")...)}
	replaced, _ := kept.write(t, log)
	p.anns = append(p.anns, replaced)
	for _, original := range []bool{true, false} {
		var archive bytes.Buffer
		manifest, err := lifetime.Export(t.Context(), log, "acme", "ann", original, &archive)
		require.NoError(t, err)
		files := unzip(t, archive.Bytes())
		var told lifetime.Manifest
		require.NoError(t, json.Unmarshal(files["manifest.json"], &told))
		require.Equal(t, *manifest, told)
		require.Equal(t, "ann", told.User)
		require.Len(t, told.Threads, len(p.anns))
		for i, line := range told.Threads {
			require.Equal(t, p.anns[i].Thread, line.Thread)
			again, run, err := web.ReadFile(t.Context(), bytes.NewReader(files[line.File]), line.File)
			require.NoError(t, err, line.File)
			was, err := log.Read(t.Context(), p.anns[i], 0, 0)
			require.NoError(t, err)
			is, err := again.Read(t.Context(), events.ThreadKey{Tenant: run.Tenant, Thread: run.Thread}, 0, 0)
			require.NoError(t, err)
			if original {
				require.Equal(t, was, is)
			}
			require.Len(t, is, line.Events)
		}
		require.Len(t, told.Files, 2)
		require.Equal(t, annsFile, string(files[told.Files[0].File]))
		require.Equal(t, "../0.txt", told.Files[0].Name)
		require.Equal(t, inCommon, string(files["artifacts/"+string(p.shared)]))
		require.Len(t, files, 1+len(p.anns)+2)
		for name, text := range files {
			require.NotContains(t, string(text), toBob, name)
			require.NotContains(t, string(text), otherAnns, name)
			require.Equal(t, original && name == told.Threads[3].File, bytes.Contains(text, []byte("ann@example.org")), name)
		}
	}
	var none bytes.Buffer
	_, err := lifetime.Export(t.Context(), log, "globex", "bob", true, &none)
	require.ErrorIs(t, err, lifetime.ErrNobody)
	require.Zero(t, none.Len())
}

func unzip(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, file := range z.File {
		content, err := file.Open()
		require.NoError(t, err)
		files[file.Name], err = io.ReadAll(content)
		require.NoError(t, err)
	}
	return files
}
