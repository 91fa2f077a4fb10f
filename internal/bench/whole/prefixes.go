package main

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// block is what vLLM caches as one: 16 tokens of four bytes. OpenAI and Anthropic cache nothing
// below 1,024 tokens, which prompts as short as those of this job hardly reach.
// https://docs.vllm.ai/en/latest/design/prefix_caching.html
const block = 4 * 16

// prefixes are of all requests that a server has seen, whichever run they are of. They can be
// used by several goroutines at once.
type prefixes struct {
	seed  maphash.Seed
	mu    sync.Mutex
	known map[uint64]struct{}
}

func newPrefixes() *prefixes {
	return &prefixes{seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
}

// cached says how many bytes of a request an earlier one began with, and remembers it. Tools
// come before messages in what a model reads, wherever they stand in the JSON.
func (p *prefixes) cached(body []byte) (cached int) {
	messages, tools := bytes.Index(body, []byte(`"messages":`)), bytes.LastIndex(body, []byte(`"tools":`))
	if 0 <= messages && messages < tools {
		body = append(append(make([]byte, 0, len(body)), body[tools:]...), body[messages:tools]...)
	}
	var hash maphash.Hash
	hash.SetSeed(p.seed)
	p.mu.Lock()
	defer p.mu.Unlock()
	for end := block; end <= len(body); end += block {
		_, _ = hash.Write(body[end-block : end]) // a hash takes all
		sum := hash.Sum64()
		if _, known := p.known[sum]; known {
			cached = end
		}
		p.known[sum] = struct{}{}
	}
	return cached
}

// forget has the next requests counted by themselves: rows of one batch share a cache, repeated
// measurements do not.
func (p *prefixes) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.known)
}
