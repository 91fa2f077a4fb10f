// The scale of the timeline: times as places from 0 to 1, with the time compressed
// in which nobody did anything.

interface Point {
  time: number;
  at: number;
  // idle marks the stretch before the point as compressed.
  idle: boolean;
}

// idleShare is how much a stretch of idle time counts at most, of the busy time.
const idleShare = 0.04;

export class Scale {
  private readonly points: Point[];
  private readonly length: number;

  // busy are the stretches in which anybody did something, in order and apart.
  constructor(start: number, last: number, busy: readonly [number, number][]) {
    let work = 0;
    for (const [a, b] of busy) work += b - a;
    const longest = Math.max(1000, work * idleShare);
    this.points = [{ time: start, at: 0, idle: false }];
    let at = 0;
    let previous = start;
    const idle = (until: number) => {
      const gap = until - previous;
      if (gap <= 0) return;
      at += Math.min(gap, longest);
      this.points.push({ time: until, at, idle: gap > longest });
    };
    for (const [a, b] of busy) {
      const from = Math.max(a, start);
      idle(from);
      if (b > from) {
        at += b - from;
        this.points.push({ time: b, at, idle: false });
      }
      previous = Math.max(previous, b);
    }
    idle(last);
    this.length = Math.max(1, at);
  }

  at(time: number): number {
    const i = this.find((p) => p.time >= time);
    if (i === 0) return 0;
    if (i === this.points.length) return 1;
    const [a, b] = [this.points[i - 1], this.points[i]];
    return (a.at + ((time - a.time) / Math.max(1, b.time - a.time)) * (b.at - a.at)) / this.length;
  }

  time(at: number): number {
    const want = at * this.length;
    const i = this.find((p) => p.at >= want);
    if (i === 0) return this.points[0].time;
    if (i === this.points.length) return this.points[i - 1].time;
    const [a, b] = [this.points[i - 1], this.points[i]];
    return a.time + ((want - a.at) / Math.max(1, b.at - a.at)) * (b.time - a.time);
  }

  // gaps are the compressed stretches, as places on the scale.
  gaps(): [number, number][] {
    const gaps: [number, number][] = [];
    for (let i = 1; i < this.points.length; i++) {
      if (this.points[i].idle) gaps.push([this.points[i - 1].at / this.length, this.points[i].at / this.length]);
    }
    return gaps;
  }

  private find(test: (p: Point) => boolean): number {
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (test(this.points[mid])) high = mid;
      else low = mid + 1;
    }
    return low;
  }
}
