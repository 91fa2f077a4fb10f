// When the page has something to read, for all that can wait until then.

// silenceMs is how long a browser may take to tell; some tell nothing of what they paint.
const silenceMs = 1000;

// painted is fulfilled once the page's first contents are on the screen: what is drawn
// before that takes the processor from those who bring them there.
export const painted = new Promise<void>((done) => {
  setTimeout(done, silenceMs);
  new PerformanceObserver((list) => {
    if (list.getEntriesByName("first-contentful-paint").length > 0) done();
  }).observe({ type: "paint", buffered: true });
});
