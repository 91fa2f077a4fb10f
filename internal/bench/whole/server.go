package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// scriptJSON has the replies of the job by agent: 16 calls and about 1,700 tokens, a plan of
// six tasks for three specialists. It stays as it is.
//
//go:embed script.json
var scriptJSON []byte

type reply struct {
	Text      string `json:"text"`
	ToolCalls []struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

// job is the number of the job in requests, #00017, which the replies of the facilitator pass on.
const job = "#00000"

// pace is when the first token of a call comes.
type pace string

const (
	atOnce pace = "at-once"
	inStep pace = "in-step" // after half a second
	uneven pace = "uneven"  // after one to three seconds
	apart  pace = "apart"   // at once, and each chunk for itself, chunkPause behind the one before
)

// chunkPause is that of a model that writes 1,000 tokens a second, four a chunk.
const chunkPause = 4 * time.Millisecond

// firstToken is that of a call of a numbered job, always the same.
func (p pace) firstToken(number, agent string, turn int) time.Duration {
	switch p {
	case inStep:
		return 500 * time.Millisecond
	case uneven:
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, number, agent, turn) // a hash takes all
		return time.Second + time.Duration(h.Sum32()%2001)*time.Millisecond
	}
	return 0
}

// ideal is how long a job takes whose client takes no time: the facilitator's calls, and the
// longest of the specialists, who work side by side.
func (p pace) ideal(script map[string][]reply, number string) (all time.Duration) {
	var longest time.Duration
	for agent, replies := range script {
		var sum time.Duration
		for turn := range replies {
			sum += p.firstToken(number, agent, turn)
		}
		if agent == facilitator {
			all += sum
		} else {
			longest = max(longest, sum)
		}
	}
	return all + longest
}

// usage is what was asked of a server. Tokens are counted as four bytes of a request.
type usage struct {
	Calls, Chunks, PromptTokens, UncachedTokens int64
}

// server is a model that knows its replies beforehand and writes each at once: it takes a small
// part of its clients' time.
type server struct {
	pace           pace
	tokensPerChunk int64
	bodies         map[string][][]byte
	chunks         map[string][]int64
	prefixes       *prefixes

	calls, sent, prompt, uncached atomic.Int64
}

func readScript() (script map[string][]reply, err error) {
	err = json.Unmarshal(scriptJSON, &script)
	return script, err
}

func newServer(script map[string][]reply, tokensPerChunk int, p pace) *server {
	s := &server{pace: p, tokensPerChunk: int64(tokensPerChunk), bodies: map[string][][]byte{}, chunks: map[string][]int64{}, prefixes: newPrefixes()}
	for agent, replies := range script {
		for turn, r := range replies {
			body, chunks := stream(r, fmt.Sprintf("%s_%d", agent, turn), tokensPerChunk)
			s.bodies[agent], s.chunks[agent] = append(s.bodies[agent], body), append(s.chunks[agent], chunks)
		}
	}
	return s
}

// stream is a reply as its chunks go out, without the last ones, which have the usage.
func stream(r reply, id string, tokensPerChunk int) (body []byte, chunks int64) {
	add := func(delta any, finish any) {
		line, _ := json.Marshal(map[string]any{"id": id, "object": "chat.completion.chunk", "created": 1, "model": "bench",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}) // maps and strings
		body = append(append(append(body, "data: "...), line...), "\n\n"...)
		chunks++
	}
	add(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, part := range pieces(r.Text, 4*tokensPerChunk) {
		add(map[string]any{"content": part}, nil)
	}
	for i, call := range r.ToolCalls {
		add(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprintf("call_%s_%d", id, i), "type": "function",
			"function": map[string]any{"name": call.Name, "arguments": ""}}}}, nil)
		for _, part := range pieces(call.Arguments, 4*tokensPerChunk) {
			add(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": part}}}}, nil)
		}
	}
	finish := "stop"
	if len(r.ToolCalls) > 0 {
		finish = "tool_calls"
	}
	add(map[string]any{}, finish)
	return body, chunks
}

// pieces cuts a text, but never the number of the job in it.
func pieces(text string, size int) (all []string) {
	var piece []rune
	runes := []rune(text)
	for i, r := range runes {
		piece = append(piece, r)
		inNumber := i+1 < len(runes) && bytes.ContainsRune([]byte(job), runes[i+1]) && bytes.ContainsRune([]byte(job), r)
		if len(piece) >= size && !inNumber {
			all, piece = append(all, string(piece)), nil
		}
	}
	if len(piece) > 0 {
		all = append(all, string(piece))
	}
	return all
}

const facilitator = "facilitator"

// specialists are in the order of their tasks, of which each has two.
var specialists = []string{"logistics", "food", "sightseeing"}

// whose says who asks, at which turn, in which job.
func whose(body []byte) (agent string, turn int, number string) {
	number = job
	for rest := body; ; {
		at := bytes.IndexByte(rest, '#')
		if at < 0 || len(rest) < at+len(job) {
			break
		}
		if _, err := strconv.ParseUint(string(rest[at+1:at+len(job)]), 10, 32); err == nil {
			number = string(rest[at : at+len(job)])
			break
		}
		rest = rest[at+1:]
	}
	turn = bytes.Count(body, []byte(`"role":"assistant"`))
	if bytes.Contains(body, []byte(`"create_tasks"`)) {
		return facilitator, turn, number
	}
	if _, after, found := bytes.Cut(body, []byte("Your tasks: ")); found {
		if task := int(after[0] - '0'); task >= 1 && (task-1)/2 < len(specialists) {
			return specialists[(task-1)/2], turn, number
		}
	}
	return "", turn, number
}

// buffers are for requests.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/usage" { // asked for before and after a measurement
		s.prefixes.forget()
		_ = json.NewEncoder(w).Encode(usage{s.calls.Load(), s.sent.Load(), s.prompt.Load(), s.uncached.Load()}) // its parent asks again or ends
		return
	}
	arrived := time.Now()
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if _, err := io.Copy(buffer, r.Body); err != nil {
		return
	}
	body := buffer.Bytes()
	agent, turn, number := whose(body)
	if turn >= len(s.bodies[agent]) {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"agent %q has no turn %d"}}`, agent, turn), http.StatusBadRequest)
		return
	}
	prompt, uncached := int64(len(body)/4), int64(len(body)-s.prefixes.cached(body))/4
	s.calls.Add(1)
	s.sent.Add(s.chunks[agent][turn])
	s.prompt.Add(prompt)
	s.uncached.Add(uncached)
	reply := s.bodies[agent][turn]
	if number != job && bytes.Contains(reply, []byte(job)) {
		reply = bytes.ReplaceAll(reply, []byte(job), []byte(number))
	}
	written := s.chunks[agent][turn] * s.tokensPerChunk
	w.Header().Set("Content-Type", "text/event-stream")
	time.Sleep(time.Until(arrived.Add(s.pace.firstToken(number, agent, turn))))
	if s.pace == apart {
		reply = writeApart(w, reply)
	}
	_, _ = w.Write(reply) // a client that went away is not told
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"u\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}\n\ndata: [DONE]\n\n",
		prompt, written, prompt+written, prompt-uncached)
}

// writeApart writes each chunk of a reply but the last for itself, and gives the last.
func writeApart(w http.ResponseWriter, reply []byte) (last []byte) {
	for {
		chunk, rest, more := bytes.Cut(reply, []byte("\n\n"))
		if !more || len(rest) == 0 {
			return reply
		}
		_, _ = w.Write(reply[:len(chunk)+2])
		_ = http.NewResponseController(w).Flush() // a client that went away is not told
		time.Sleep(chunkPause)
		reply = rest
	}
}
