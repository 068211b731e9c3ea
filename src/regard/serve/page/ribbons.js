// Source above target: words in two lines, ribbons between them as wide as their weights.
import { characters, clear, make } from "./dom.js";
import { ink, named, shade } from "./colours.js";
import { later, moved, pen } from "./frames.js";
import { labelOf, sameUnits } from "./maps.js";
import { percent, say } from "./strings.js";

const HEIGHT = 220, WIDEST = 13, LEVELS = 10;
// So many ribbons are drawn at once; of a word that is pointed at, all.
const MOST = 3000;

export class Ribbons {
  constructor(on) {
    this.on = on;
    this.keys = make("div", { class: "words keys", role: "listbox", "aria-orientation": "horizontal" });
    this.queries = make("div", { class: "words queries", role: "listbox", "aria-orientation": "horizontal" });
    this.canvases = [make("canvas", { class: "base" }), make("canvas", { class: "over" })];
    this.window = make("div", { class: "window", role: "img" }, this.canvases);
    this.stage = make("div", { class: "stage" }, this.keys, make("div", { class: "crossing" }, this.window), this.queries);
    this.lane = make("div", { class: "lane", tabIndex: -1 }, this.stage);
    this.note = make("p", { class: "soft small" });
    this.element = make("div", { class: "ribbons" }, this.lane, this.note);
    this.mark_ = { row: null, column: null, pinned: false };
    this.listen();
  }
  listen() {
    this.lane.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.window.addEventListener("pointermove", (event) => { moved(event); this.pointed(event); });
    this.window.addEventListener("pointerleave", () => this.on.leave());
    this.window.addEventListener("click", (event) => { const hit = this.hit(event); if (hit) this.on.pin(hit.row, hit.column); });
    new ResizeObserver(() => this.measure()).observe(this.lane);
    for (const [line, place] of [[this.keys, (at) => [null, at]], [this.queries, (at) => [at, null]]]) this.listenTo(line, place);
  }
  listenTo(line, place) {
    const at = (event) => { const word = event.target.closest("[data-at]"); return word && Number(word.dataset.at); };
    const withPlace = (act) => (event) => { const found = at(event); if (found !== null) act(...place(found), event); };
    line.addEventListener("pointerover", withPlace((row, column, event) => { moved(event); this.on.point(row, column); }));
    line.addEventListener("pointerleave", () => this.on.leave());
    line.addEventListener("click", withPlace((row, column) => this.on.pin(row, column)));
    line.addEventListener("focusin", withPlace((row, column) => this.on.point(row, column)));
    line.addEventListener("dblclick", withPlace((row, column, event) => { if (column !== null) this.edit(column, event); }));
    line.addEventListener("keydown", withPlace((row, column, event) => this.key(row, column, event)));
  }
  key(row, column, event) {
    if (event.target.tagName === "INPUT") return;
    if (event.key === "F2" && column !== null) { event.preventDefault(); this.edit(column); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.on.pin(row, column); }
    const other = { ArrowUp: this.keys, ArrowDown: this.queries }[event.key];
    if (other) { event.preventDefault(); other.querySelector("[tabindex='0']")?.focus(); }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && column !== null) { event.preventDefault(); event.stopPropagation(); this.keys.children[column + step]?.focus(); }
  }
  show(map, settings) {
    if (this.map !== map) this.fill(map, settings);
    this.redraw();
  }
  fill(map, { editable, titles }) {
    const same = this.map && sameUnits(this.map.rows, map.rows) && sameUnits(this.map.columns, map.columns) && this.map.probabilities === map.probabilities;
    this.map = map;
    this.editable = editable;
    this.keys.setAttribute("aria-label", titles.columns);
    this.queries.setAttribute("aria-label", titles.rows);
    this.window.setAttribute("aria-label", say("ribbons.label"));
    this.element.classList.toggle("long", map.width > 60 || map.height > 60);
    this.gather();
    if (same) return;
    for (const line of [this.keys, this.queries]) Object.assign(line, { chosen: null, shaded: false });
    clear(this.keys, map.columns.map((unit, at) => word(unit, at, null, editable(at))));
    clear(this.queries, map.rows.map((unit, at) => word(unit, at, map.probabilities?.[at] ?? null, false)));
    this.measure();
    this.toStrongest(this.drawn.slice(-map.height));
  }
  // Scrolls to where these ribbons end, if that is out of sight.
  toStrongest(ribbons) {
    if (!this.xs || !ribbons.length || this.keys.classList.contains("held")) return;
    const places = ribbons.map((one) => this.xs.keys[one.column]).sort((one, other) => one - other), middle = places[places.length >> 1];
    if (Math.abs(middle - this.lane.scrollLeft - this.width / 2) > this.width / 2 - 30) this.lane.scrollLeft = middle - this.width / 2;
  }
  ready(map) { return (map.ribbons ??= strongest(map)); }
  gather() {
    const { map } = this;
    this.drawn = this.ready(map).drawn;
    this.note.textContent = map.ribbons.all > MOST ? say("ribbons.most", { drawn: MOST, all: map.ribbons.all }) : "";
  }
  measure() {
    if (!this.map || !this.lane.clientWidth) return;
    this.width = this.lane.clientWidth;
    this.element.classList.remove("tight");
    this.element.classList.toggle("tight", [this.keys, this.queries].some((line) => natural(line) > this.width));
    for (const line of [this.keys, this.queries]) this.hold(line);
    const middles = (line) => Float32Array.from(line.children, (child) => child.offsetLeft + child.offsetWidth / 2);
    this.xs = { keys: middles(this.keys), queries: middles(this.queries) };
    this.window.style.width = `${this.width}px`;
    this.redraw();
  }
  // A line that fits stays in sight while the other is scrolled.
  hold(line) {
    const fits = natural(line) <= this.width;
    line.classList.toggle("held", fits);
    line.style.width = fits ? `${this.width}px` : "";
  }
  x(side, at) { return this.xs[side][at] - (this[side].classList.contains("held") ? 0 : this.scroll); }
  redraw() { this.stale = true; later(this); }
  mark(mark, scroll) {
    this.mark_ = mark;
    this.shadeWords();
    if (scroll && mark.row !== null) this.reveal(this.queries.children[mark.row]);
    if (mark.pinned && mark.row !== null && mark.row !== this.seen) this.toStrongest(this.chosen(mark.row, null).slice(-1));
    this.seen = mark.pinned ? mark.row : null;
    later(this);
  }
  reveal(word) {
    if (!word) return;
    if (word.parentElement.classList.contains("held")) return;
    const left = word.offsetLeft - this.lane.scrollLeft;
    if (left < 40 || left + word.offsetWidth > this.width - 40) this.lane.scrollLeft = word.offsetLeft - this.width / 2;
  }
  shadeWords() {
    const { row, column, pinned } = this.mark_;
    this.shadeLine(this.keys, this.map.width, column, pinned, row === null ? null : (at) => this.map.share(row, at));
    this.shadeLine(this.queries, this.map.height, row, pinned, column === null || row !== null ? null : (at) => this.map.share(at, column));
  }
  shadeLine(line, count, chosen, pinned, share) {
    const words = line.children;
    for (let at = 0; at < Math.min(count, words.length) && (share || line.shaded); at++) {
      // Most weights are next to nothing: words whose colour stays are left alone.
      const step = share ? Math.round(share(at) * 50) : null, word = words[at];
      if (word.step === step) continue;
      word.step = step;
      word.style.backgroundColor = step === null ? "" : shade(step / 50);
      word.style.color = step === null ? "" : ink(step / 50);
    }
    line.shaded = Boolean(share);
    this.choose(line, words, chosen, pinned);
  }
  // One word of a line is chosen, and can be reached with the tab key.
  choose(line, words, chosen, pinned) {
    const before = words[line.chosen ?? 0], now = words[chosen ?? 0];
    if (before) { before.classList.remove("chosen", "pinned"); before.setAttribute("aria-selected", "false"); before.tabIndex = -1; }
    line.chosen = chosen;
    if (!now) return;
    now.tabIndex = 0;
    now.classList.toggle("chosen", chosen !== null);
    now.classList.toggle("pinned", chosen !== null && pinned);
    now.setAttribute("aria-selected", String(chosen !== null));
  }
  draw() {
    if (!this.map || !this.xs) return;
    const { row, column } = this.mark_, busy = row !== null || column !== null;
    this.scroll = this.lane.scrollLeft;
    if (this.stale) { this.lines(pen(this.canvases[0], this.width, HEIGHT), this.drawn, 1); this.stale = false; }
    this.window.classList.toggle("dim", busy);
    this.lines(pen(this.canvases[1], this.width, HEIGHT), busy ? this.chosen(row, column) : [], 1.6);
  }
  // Of a word all ribbons, of a cell the one.
  chosen(row, column) {
    const { map } = this, places = (count) => [...Array(count).keys()];
    if (row !== null && column !== null) return [...this.chosen(row, null).map((one) => ({ ...one, faint: one.column !== column }))];
    if (row !== null) return map.strongest(row).map((at) => ({ row, column: at, share: map.share(row, at) })).reverse();
    return places(map.height).map((at) => ({ row: at, column, share: map.share(at, column) })).filter(({ share }) => Math.abs(share) > 0.02);
  }
  // Ribbons of about the same weight are one path: there may be thousands.
  lines(tool, ribbons, boost) {
    const groups = new Map();
    for (const one of ribbons) {
      const x0 = this.x("keys", one.column), x1 = this.x("queries", one.row);
      if (Math.max(x0, x1) < -20 || Math.min(x0, x1) > this.width + 20) continue;
      const level = Math.ceil(Math.min(1, Math.abs(one.share)) * LEVELS) * (one.share < 0 ? -1 : 1) + (one.faint ? 0.5 : 0);
      if (!groups.has(level)) groups.set(level, []);
      groups.get(level).push([x0, x1]);
    }
    const colours = [named("ribbon"), named("ribbon-against")];
    for (const [level, ends] of groups) this.stroke(tool, ends, Math.abs(Math.trunc(level)) / LEVELS, colours[level < 0 ? 1 : 0], level % 1 ? 0.35 : boost);
  }
  stroke(tool, ends, share, colour, boost) {
    tool.beginPath();
    for (const [x0, x1] of ends) { tool.moveTo(x0, 0); tool.bezierCurveTo(x0, HEIGHT * 0.55, x1, HEIGHT * 0.45, x1, HEIGHT); }
    tool.lineWidth = Math.max(0.7, share * WIDEST * this.thin());
    tool.globalAlpha = Math.min(0.95, (0.12 + 0.45 * share) * boost);
    tool.strokeStyle = colour;
    tool.stroke();
    tool.globalAlpha = 1;
  }
  thin() { return this.map.width > 60 ? 0.6 : 1; }
  pointed(event) {
    const hit = this.hit(event);
    if (hit) this.on.point(hit.row, hit.column); else this.on.leave();
  }
  // The ribbon under the pointer: at a given height all curves mix their ends in the same way.
  hit(event) {
    const box = this.window.getBoundingClientRect(), x = event.clientX - box.left;
    const lower = across((event.clientY - box.top) / HEIGHT);
    const shown = this.mark_.pinned ? this.chosen(this.mark_.row, this.mark_.column) : this.drawn;
    let best = null, nearest = 9;
    for (const one of shown) {
      const away = Math.abs(this.x("keys", one.column) * (1 - lower) + this.x("queries", one.row) * lower - x) - (Math.abs(one.share) * WIDEST) / 2;
      if (away <= nearest) { nearest = away; best = one; }
    }
    return best;
  }
  // A word of the source becomes a field; what is typed is tried.
  edit(column) {
    if (!this.editable(column)) return;
    const unit = this.map.columns[column], word = this.keys.children[column];
    const field = make("input", { class: "inline", value: unit.text, size: Math.max(3, characters(unit.text).length), "aria-label": say("whatif.word", { word: unit.text }) });
    let left = false;
    const leave = (keep) => { if (left) return; left = true; clear(word, unit.text); word.focus(); if (keep && field.value !== unit.text) this.on.rewrite(column, field.value); };
    field.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Enter") leave(true); if (event.key === "Escape") leave(false); });
    field.addEventListener("blur", () => leave(true));
    field.addEventListener("click", (event) => event.stopPropagation());
    clear(word, field);
    field.focus();
    field.select();
  }
}

// The ribbons of a map that are drawn, the strongest last, and how many there would be.
function strongest(map) {
  const all = [];
  for (let row = 0; row < map.height; row++) for (const column of map.strongest(row)) all.push({ row, column, share: map.share(row, column) });
  all.sort((one, other) => Math.abs(one.share) - Math.abs(other.share));
  return { drawn: all.slice(-MOST), all: all.length };
}

// How wide a line is from its first word to its last.
function natural(line) {
  const first = line.firstElementChild, last = line.lastElementChild;
  return first ? last.offsetLeft + last.offsetWidth - first.offsetLeft + 8 : 0;
}

function word(unit, at, probability, editable) {
  const made = make("span", { class: `word${unit.special ? " special" : ""}`, role: "option", tabIndex: at ? -1 : 0, "data-at": at, "aria-selected": "false" }, labelOf(unit));
  if (editable) made.title = say("whatif.edit");
  if (probability !== null) {
    made.append(make("i", { class: "sure", "aria-hidden": "true", style: { "--share": probability } }));
    made.title = say("word.sure", { share: percent(probability) });
  }
  return made;
}

// How far a curve has crossed over at a height from 0 to 1 (its control points stand at 0.55 and 0.45).
function across(height) {
  let low = 0, high = 1;
  for (let turn = 0; turn < 20; turn++) {
    const t = (low + high) / 2, y = 3 * (1 - t) ** 2 * t * 0.55 + 3 * (1 - t) * t ** 2 * 0.45 + t ** 3;
    if (y < height) low = t; else high = t;
  }
  return 3 * (1 - low) * low ** 2 + low ** 3;
}
