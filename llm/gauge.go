package llm

import (
	"math"
	"sync"

	"github.com/convene-run/convene/events"
)

// gauges learn, for each model, how far our estimates of tokens are off, from the
// replies whose endpoint counted them. What they give is for the attempts that broke off
// before anything was counted. The zero value estimates only. Safe for concurrent use.
type gauges struct {
	mu sync.Mutex // guards all below
	// of is by endpoint and model; a route names them, so there are few.
	of map[gaugeKey]*gauge
}

type gaugeKey struct{ endpoint, model string }

type gauge struct{ input, output ratio }

// ratio is what was counted beside what was estimated for the same texts.
type ratio struct{ counted, estimated float64 }

// ratioKept is how much of the past a ratio keeps with every reply: that of some twenty
// replies, so that it follows a conversation into another language.
const ratioKept = 0.95

func (r *ratio) add(counted, estimated int64) {
	if counted > 0 && estimated > 0 {
		r.counted = r.counted*ratioKept + float64(counted)
		r.estimated = r.estimated*ratioKept + float64(estimated)
	}
}

func (r *ratio) correct(estimate int64) int64 {
	if r.estimated == 0 {
		return estimate
	}
	return int64(math.Ceil(float64(estimate) * r.counted / r.estimated))
}

// learn takes a reply that the endpoint counted.
func (g *gauges) learn(target Target, req *Request, done *Completion) {
	if done.Usage.Estimated {
		return
	}
	input, output := estimateInput(req), estimateOutput(&done.Reply)
	key := gaugeKey{target.Endpoint.Name, target.Model}
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of[key]
	if one == nil {
		if g.of == nil {
			g.of = map[gaugeKey]*gauge{}
		}
		one = &gauge{}
		g.of[key] = one
	}
	one.input.add(done.Usage.InputTokens, input)
	one.output.add(done.Usage.OutputTokens, output)
}

// estimate guesses the usage of a request of whose reply so many bytes have come.
func (g *gauges) estimate(target Target, req *Request, streamed int) events.Usage {
	usage := events.Usage{InputTokens: estimateInput(req), OutputTokens: tokens(streamed), Estimated: true}
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.of[gaugeKey{target.Endpoint.Name, target.Model}]; one != nil {
		usage.InputTokens, usage.OutputTokens = one.input.correct(usage.InputTokens), one.output.correct(usage.OutputTokens)
	}
	return usage
}
