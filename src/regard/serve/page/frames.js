// Drawing once a frame: views that have something new are drawn together, and it is measured how long that took.
const waiting = new Set();
let asked = false, hovered = null;

export function later(view) {
  waiting.add(view);
  if (asked) return;
  asked = true;
  requestAnimationFrame(all);
}

function all() {
  asked = false;
  const views = [...waiting];
  waiting.clear();
  for (const view of views) view.draw();
  if (hovered !== null) painted();
}

// The time from a pointer's move until what it changed is on the screen.
export function moved(event) { hovered ??= event?.timeStamp ?? performance.now(); }

function painted() {
  const start = hovered;
  hovered = null;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { performance.measure("hover to paint", { start, end: performance.now() }); port1.close(); };
  port2.postMessage(null);
}

// A canvas in the size of its box, sharp on any screen; the pen counts in the page's own pixels.
export function pen(canvas, width, height) {
  const sharp = devicePixelRatio || 1, wide = Math.round(width * sharp), high = Math.round(height * sharp);
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const found = canvas.getContext("2d");
  found.setTransform(sharp, 0, 0, sharp, 0, 0);
  found.clearRect(0, 0, width, height);
  return found;
}
