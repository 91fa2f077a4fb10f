package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// rounds alternate between the programs; the medians of the processor times are compared.
	rounds = 3
	// many is how many runs at once memory and wall times are measured with.
	many = 2000
)

// widths are runs at once, and how many are measured.
var widths = []struct{ atOnce, rows int }{{1, 60}, {16, 320}, {64, 640}}

// table prints what is compared. Times are milliseconds of CPU a run.
func (b *bench) table(ctx context.Context) error {
	fmt.Println("| part | convene | bare loop | convene ÷ bare |")
	fmt.Println("| --- | --- | --- | --- |")
	var sixteen [2][2]cost // at one and at four tokens a chunk; convene and the bare loop
	for i, tokens := range []int{1, 4} {
		for _, w := range widths {
			ours, bare, err := b.both(ctx, tokens, atOnce, w.rows, w.atOnce)
			if err != nil {
				return err
			}
			row(fmt.Sprintf("whole, tokens a chunk: %d, at once: %d, CPU ms", tokens, w.atOnce), "%.2f", ours.perRow(), bare.perRow())
			if w.atOnce == 16 {
				sixteen[i] = [2]cost{ours, bare}
			}
		}
	}
	ours, bare, err := b.both(ctx, 4, apart, 64, 16)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("whole, tokens a chunk: 4, each %v apart, at once: 16, CPU ms", chunkPause), "%.2f", ours.perRow(), bare.perRow())
	var without, chunk [2]float64
	for who := range chunk {
		fine, coarse := sixteen[0][who], sixteen[1][who]
		chunk[who] = (fine.perRow() - coarse.perRow()) / (fine.chunks() - coarse.chunks())
		without[who] = coarse.perRow() - chunk[who]*coarse.chunks()
	}
	row("a run without its chunks, at once: 16, CPU ms", "%.2f", without[0], without[1])
	row("a chunk of the stream, CPU µs", "%.2f", chunk[0]*1000, chunk[1]*1000)
	ours, bare = sixteen[1][0], sixteen[1][1]
	row("prompt tokens a run, 4 bytes each", "%.0f", float64(ours.usage.PromptTokens)/float64(ours.rows), float64(bare.usage.PromptTokens)/float64(bare.rows))
	row("of these in no cache of prefixes", "%.0f", float64(ours.usage.UncachedTokens)/float64(ours.rows), float64(bare.usage.UncachedTokens)/float64(bare.rows))
	row("store, KB a run", "%.1f", float64(ours.store)/float64(ours.rows)/1000, 0)
	return b.atOnce(ctx)
}

// row prints a line. What the bare loop has not is 0.
func row(name, format string, ours, bare float64) {
	theirs, ratio := "–", "–"
	if bare > 0 {
		theirs, ratio = fmt.Sprintf(format, bare), fmt.Sprintf("%.2f", ours/bare)
	}
	fmt.Printf("| %s | "+format+" | %s | %s |\n", name, ours, theirs, ratio)
}

// both measures both programs in turn, and gives of each the round with the median CPU.
func (b *bench) both(ctx context.Context, tokensPerChunk int, p pace, rows, width int) (ours, bare cost, err error) {
	address, stop, err := b.serve(ctx, tokensPerChunk, p)
	if err != nil {
		return ours, bare, err
	}
	defer stop()
	var all [2][]cost
	for range rounds {
		for who, measure := range []func(context.Context, string, int, int) (cost, error){b.batch, b.loop} {
			c, err := measure(ctx, address, rows, width)
			if err != nil {
				return ours, bare, err
			}
			all[who] = append(all[who], c)
		}
	}
	for who := range all {
		slices.SortFunc(all[who], func(a, b cost) int { return int(a.cpu - b.cpu) })
	}
	return all[0][rounds/2], all[1][rounds/2], nil
}

// atOnce measures many runs at once: memory beside that of a single run, and wall time beside
// that of the longest run, as it would be with a client that takes no time.
func (b *bench) atOnce(ctx context.Context) error {
	for _, p := range []pace{inStep, uneven} {
		address, stop, err := b.serve(ctx, 4, p)
		if err != nil {
			return err
		}
		defer stop()
		var memory, wall [2]float64
		for who, measure := range []func(context.Context, string, int, int) (cost, error){b.batch, b.loop} {
			one, err := measure(ctx, address, 1, 1)
			if err != nil {
				return err
			}
			all, err := measure(ctx, address, many, many)
			if err != nil {
				return err
			}
			memory[who] = float64(all.peak-one.peak) / many / 1000
			wall[who] = all.wall.Seconds() / b.longest(p).Seconds()
		}
		row(fmt.Sprintf("%d at once, first tokens %s: memory, KB a run", many, p), "%.0f", memory[0], memory[1])
		row(fmt.Sprintf("%d at once, first tokens %s: wall ÷ longest run's own", many, p), "%.2f", wall[0], wall[1])
	}
	return nil
}

func (b *bench) longest(p pace) (longest time.Duration) {
	for i := range many {
		longest = max(longest, p.ideal(b.script, number(i)))
	}
	return longest
}
