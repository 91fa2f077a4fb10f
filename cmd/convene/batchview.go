package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/convene-run/convene/batch"
	"github.com/convene-run/convene/cmd/internal/termview"
)

// batchView shows a batch as it goes. It writes to stderr, where a failure to write
// has nobody to be told.
type batchView interface {
	interval() time.Duration
	progress(p batch.Progress, notice string)
	report(r batch.Report, commands []string)
}

// batchView chooses how the batch is shown.
func (a *app) batchView(asJSON bool) batchView {
	if asJSON {
		return &batchJSON{out: unaltered(a.err)}
	}
	plain := batchPlain{out: a.err, theme: a.theme(a.err)}
	if a.canDraw(a.err) {
		return &batchLive{batchPlain: plain}
	}
	return &plain
}

// plainInterval is how often a log gets a line.
const plainInterval = 5 * time.Second

// batchPlain writes a line every few seconds.
type batchPlain struct {
	out    io.Writer
	theme  termview.Theme
	begun  bool
	notice string
	last   time.Time
}

func (v *batchPlain) interval() time.Duration { return time.Second }

func (v *batchPlain) progress(p batch.Progress, notice string) {
	if notice != v.notice {
		v.notice = notice
		fmt.Fprintln(v.out, notice)
	}
	if !v.begun {
		v.begun, v.last = true, time.Now()
		fmt.Fprintf(v.out, "batch: %s, %d done before\n", termview.Plural(p.Total, "row"), p.Done)
		return
	}
	if time.Since(v.last) < plainInterval {
		return
	}
	v.last = time.Now()
	for _, line := range termview.BatchLines(p) {
		fmt.Fprintln(v.out, line)
	}
}

func (v *batchPlain) report(r batch.Report, commands []string) {
	for _, line := range termview.BatchReport(r, v.theme, width(v.out)) {
		fmt.Fprintln(v.out, line)
	}
	for _, command := range commands {
		fmt.Fprintln(v.out, command)
	}
}

// batchLive draws the batch in place on a terminal.
type batchLive struct {
	batchPlain
	picture *picture // nil before there is something to draw
}

func (v *batchLive) interval() time.Duration { return tickInterval }

func (v *batchLive) progress(p batch.Progress, notice string) {
	if v.picture == nil {
		v.picture = newPicture(v.out, quietly(v.out))
	}
	_ = v.picture.paint(termview.BatchPicture(p, notice, v.theme, width(v.out)))
}

func (v *batchLive) report(r batch.Report, commands []string) {
	if v.picture != nil {
		_ = v.picture.close()
	}
	v.batchPlain.report(r, commands)
}

// batchJSON writes a record every few seconds, and the report.
type batchJSON struct {
	out  io.Writer
	last time.Time
}

func (v *batchJSON) interval() time.Duration { return time.Second }

func (v *batchJSON) progress(p batch.Progress, notice string) {
	if time.Since(v.last) < plainInterval && notice == "" {
		return
	}
	v.last = time.Now()
	v.write(struct {
		Type string    `json:"type"`
		Time time.Time `json:"time"`
		batch.Progress
		Notice string `json:"notice,omitempty"`
	}{"progress", time.Now().UTC(), p, notice})
}

func (v *batchJSON) report(r batch.Report, commands []string) {
	v.write(struct {
		Type string    `json:"type"`
		Time time.Time `json:"time"`
		batch.Report
		UncachedShare float64  `json:"uncached_input_share"`
		ElapsedMS     int64    `json:"elapsed_ms"`
		Next          []string `json:"next,omitempty"`
	}{"report", time.Now().UTC(), r, r.Usage.UncachedShare(), r.Elapsed.Milliseconds(), commands})
}

func (v *batchJSON) say(line string) {
	v.write(struct {
		Type    string    `json:"type"`
		Time    time.Time `json:"time"`
		Message string    `json:"message"`
	}{"notice", time.Now().UTC(), line})
}

func (v *batchJSON) write(record any) {
	line, err := json.Marshal(record)
	if err != nil {
		line = fmt.Appendf(nil, `{"type":"error","message":%q}`, err)
	}
	_, _ = v.out.Write(append(line, '\n'))
}
