// What the search went through: the path that won, what ended beside it, and the candidates that were dropped.
import { clear, draw, make } from "./dom.js";
import { percent, say } from "./strings.js";

const WIDE = 104, HIGH = 27, BOX = 84, EDGE = 12;

export class Tree {
  constructor(on) {
    this.on = on;
    this.frame = make("div", { class: "tree", role: "tree", on: { keydown: (event) => this.key(event) } });
    this.told = make("output", { class: "soft small told" });
    this.element = make("div", {}, this.frame, this.told);
  }
  show(tree) {
    this.frame.setAttribute("aria-label", say("tree.label"));
    this.nodes = placed(tree.nodes);
    const steps = Math.max(0, ...tree.nodes.map((node) => node.step)), rows = Math.max(1, ...[...this.nodes.values()].map((node) => node.row + 1));
    const width = (steps + 1) * WIDE + 2 * EDGE, height = rows * HIGH + 2 * EDGE;
    const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    const all = [...this.nodes.values()].sort((one, other) => one.won - other.won);
    svg.append(...all.map((node) => this.edge(node)).filter(Boolean), ...all.map((node) => this.box(node)));
    clear(this.frame, svg);
    this.told.textContent = tree.cut ? say("tree.cut", { count: tree.nodes.length }) : "";
  }
  edge(node) {
    const parent = this.nodes.get(node.parent);
    if (!parent) return null;
    const x0 = parent.x + BOX, x1 = node.x, y0 = parent.y, y1 = node.y, middle = (x0 + x1) / 2;
    return draw("path", { class: `edge ${node.won ? "won" : node.state}`, d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` });
  }
  box(node) {
    const label = say("tree.node", { text: this.text(node), state: say(`tree.${node.won ? "won" : node.state}`), score: node.score.toFixed(2), share: percent(node.probability) });
    const made = draw("g", { class: `node ${node.won ? "won" : node.state}`, role: "treeitem", tabindex: node.won && node.step === this.first ? 0 : -1, "aria-label": label, "data-id": node.id, transform: `translate(${node.x} ${node.y - HIGH / 2 + 3})` },
      draw("title", { textContent: label }),
      draw("rect", { width: BOX, height: HIGH - 6, rx: 6 }),
      draw("rect", { class: "sure", width: Math.max(2, BOX * Math.min(1, node.probability)), height: 3, y: HIGH - 9, rx: 1.5 }),
      draw("text", { x: 7, y: 14, textContent: clipped(node.text) }));
    for (const kind of ["pointerenter", "focus"]) made.addEventListener(kind, () => { this.told.textContent = label; });
    made.addEventListener("click", () => this.take(node));
    return made;
  }
  // The nodes that lead to one, itself the last.
  path(node) {
    const found = [];
    for (let one = node; one; one = this.nodes.get(one.parent)) found.unshift(one);
    return found;
  }
  text(node) { return this.path(node).map((one) => one.text).join(""); }
  // What has ended cannot be gone on with.
  take(node) {
    const path = this.path(node).filter((one) => !ended(one));
    if (path.length) this.on.take(path.map((one) => one.text).join(""), path.map((one) => one.piece));
  }
  get first() { return Math.min(...[...this.nodes.values()].map((node) => node.step)); }
  key(event) {
    const node = this.nodes.get(Number(event.target.dataset?.id));
    if (!node) return;
    if (event.key === "Enter" || event.key === " ") this.take(node);
    const next = this.beside(node, event.key);
    if (!next && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (next) this.frame.querySelector(`[data-id="${Number(next.id)}"]`)?.focus();
  }
  beside(node, key) {
    const all = [...this.nodes.values()], row = (by) => all.find((one) => one.step === node.step && one.row === node.row + by);
    if (key === "ArrowUp") return row(-1);
    if (key === "ArrowDown") return row(1);
    if (key === "ArrowLeft") return this.nodes.get(node.parent);
    return key === "ArrowRight" ? all.filter((one) => one.parent === node.id).sort((one, other) => one.row - other.row)[0] : null;
  }
}

// Nodes by number, each in the column of its step, the best above; those on the winning path know it.
function placed(nodes) {
  const found = new Map(nodes.map((node) => [node.id, { ...node, won: false }]));
  for (let one = [...found.values()].find((node) => node.state === "won"); one; one = found.get(one.parent)) one.won = true;
  const steps = Map.groupBy ? Map.groupBy(found.values(), (node) => node.step) : grouped(found.values());
  const start = Math.min(...steps.keys());
  for (const [step, column] of steps) {
    column.sort((one, other) => other.won - one.won || rank(one) - rank(other) || other.score - one.score);
    column.forEach((node, row) => Object.assign(node, { row, x: EDGE + (step - start) * WIDE, y: EDGE + row * HIGH + HIGH / 2 }));
  }
  return found;
}

const ended = (node) => node.text.trim() === "<end>";
const rank = (node) => ({ won: 0, kept: 1, finished: 1, lost: 2 })[node.state] ?? 2;

function grouped(nodes) {
  const found = new Map();
  for (const node of nodes) found.set(node.step, [...(found.get(node.step) ?? []), node]);
  return found;
}

function clipped(text) {
  const letters = Array.from(text.trim() || "␣");
  return letters.length > 10 ? `${letters.slice(0, 9).join("")}…` : letters.join("");
}
