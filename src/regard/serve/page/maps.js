// What looked at what: the answer of /v1/explore unpacked, and one map of weights at a time made from it.
const SHARE = 0.75;

// Rows look at columns. Along columns a word has the sum of its pieces, along rows their mean, as everywhere in Regard.
export class WeightMap {
  constructor(rows, columns, weights, more = {}) {
    Object.assign(this, { rows, columns, weights, height: rows.length, width: columns.length });
    Object.assign(this, { signed: false, probabilities: null, pieces: null, ...more });
    this.scale = this.largest();
  }
  at(row, column) { return this.weights[row * this.width + column]; }
  share(row, column) { return this.at(row, column) / this.scale; }
  // The largest weight on a piece that is text: what is no text often takes most, and would drown the rest.
  largest() {
    const counts = this.columns.map((unit) => !unit.special);
    let found = 0;
    for (let at = 0, column = 0; at < this.weights.length; at++, column = column + 1 === this.width ? 0 : column + 1) {
      const size = Math.abs(this.weights[at]);
      if (size > found && counts[column]) found = size;
    }
    return found || this.weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) || 1;
  }
  // The strongest columns that make up 75 % of a row.
  strongest(row) {
    const start = row * this.width, sizes = this.weights.slice(start, start + this.width), order = [];
    let total = 0, most = 0;
    for (let at = 0; at < sizes.length; at++) { sizes[at] = Math.abs(sizes[at]); total += sizes[at]; most = Math.max(most, sizes[at]); }
    if (!total) return [];
    const least = threshold(sizes, total * SHARE, most);
    for (let at = 0; at < sizes.length; at++) if (sizes[at] >= least && sizes[at] > 0) order.push(at);
    order.sort((one, other) => sizes[other] - sizes[one]);
    let sum = 0;
    const end = order.findIndex((column) => (sum += sizes[column]) >= total * SHARE);
    return end < 0 ? order : order.slice(0, end + 1);
  }
  // Places of a row or a column by weight, the largest first.
  ranked(row, column) {
    const places = row !== null ? this.columns.keys() : this.rows.keys();
    const value = (place) => (row !== null ? this.at(row, place) : this.at(place, column));
    return [...places].map((place) => [place, value(place)]).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  }
}

// The least size so that those as large make up `wanted`; found by counting, since rows may be long.
function threshold(sizes, wanted, most) {
  const bins = new Float64Array(65);
  for (const size of sizes) bins[Math.floor((size / most) * 64)] += size;
  let sum = 0;
  for (let bin = 64; bin >= 0; bin--) if ((sum += bins[bin]) >= wanted) return (bin / 64) * most;
  return 0;
}

export class Explored {
  constructor(answer) {
    Object.assign(this, { answer, inputs: answer.inputs, outputs: answer.outputs, result: answer.result, words: answer.words });
    this.attentions = (answer.attentions ?? []).filter((stored) => stored.bytes).map((stored) => new Attention(stored, this));
    this.made = new Map();
  }
  // The map of one attention, layer and head, in words or pieces; made once.
  map(number, layer, head, units) {
    const name = [number, layer, head, units].join("/");
    if (!this.made.has(name)) this.made.set(name, this.attentions[number].map(layer, head, units));
    return this.made.get(name);
  }
}

class Attention {
  constructor(stored, explored) {
    Object.assign(this, stored, { explored });
    this.weights = Uint8Array.from(atob(stored.bytes), (letter) => letter.charCodeAt(0));
  }
  // Layers may differ in their heads, where some were pruned.
  headsOf(layer) { return this.heads_of?.[layer] ?? this.heads; }
  // The bytes of one head.
  plane(layer, head) {
    const size = this.rows * this.columns, start = (layer * this.heads + head) * size;
    return this.weights.subarray(start, start + size);
  }
  pieces(layer, head) {
    const found = new Float32Array(this.rows * this.columns), heads = head === "mean" ? [...Array(this.headsOf(layer)).keys()] : [Number(head)];
    const share = 1 / (255 * heads.length);
    for (const one of heads) {
      const plane = this.plane(layer, one);
      for (let place = 0; place < plane.length; place++) found[place] += plane[place] * share;
    }
    return found;
  }
  map(layer, head, units) {
    const { rowUnits, columnUnits } = this.axes();
    const probabilities = this.queries === "outputs" ? this.explored.answer.probabilities : null;
    const whole = new WeightMap(rowUnits, columnUnits, this.pieces(layer, head), { probabilities });
    return units === "pieces" ? whole : merged(whole, this.runs(this.queries, this.rows), this.runs(this.keys, this.columns, true));
  }
  axes() {
    return { rowUnits: this.side(this.queries, this.rows), columnUnits: this.side(this.keys, this.columns, true) };
  }
  // What stands along a side; a decoder's place holds the piece before the one it writes.
  side(name, count, looked = false) {
    const { inputs, outputs } = this.explored;
    if (name === "one") return count === outputs.units.length ? outputs.units : Array(count).fill({ text: outputs.text, span: null, special: false });
    const behind = [{ text: "<begin>", span: null, special: true }, ...outputs.units];
    const all = name === "inputs" ? [...inputs.units, ...outputs.units] : looked ? behind : outputs.units;
    return Array.from({ length: count }, (_, place) => all[place] ?? { text: "", span: null, special: true });
  }
  runs(name, count, looked = false) {
    const { words, inputs } = this.explored, moved = (runs, by) => runs.map(([first, end]) => [first + by, end + by]);
    if (!words || name === "one") return null;
    const all = name === "inputs" ? [...words.inputs, ...moved(words.outputs, inputs.units.length)] : looked ? [[0, 1], ...moved(words.outputs, 1)] : words.outputs;
    return all.filter(([first]) => first < count).map(([first, end]) => [first, Math.min(end, count)]);
  }
}

const each = (count) => Array.from({ length: count }, (_, place) => [place, place + 1]);

export function merged(map, rowRuns, columnRuns) {
  const rows = rowRuns ?? each(map.height), columns = columnRuns ?? each(map.width);
  const weights = new Float32Array(rows.length * columns.length);
  rows.forEach(([top, bottom], row) => columns.forEach(([left, right], column) => {
    let sum = 0;
    for (let one = top; one < bottom; one++) for (let other = left; other < right; other++) sum += map.at(one, other);
    weights[row * columns.length + column] = sum / (bottom - top);
  }));
  const probabilities = map.probabilities && rows.map(([top, bottom]) => map.probabilities.slice(top, bottom).reduce((one, other) => one * other, 1));
  const joined = (units, runs) => runs.map(([first, end]) => word(units.slice(first, end)));
  return new WeightMap(joined(map.rows, rows), joined(map.columns, columns), weights, { probabilities, pieces: { map, rows, columns } });
}

function word(units) {
  const spans = units.map((unit) => unit.span).filter(Boolean);
  const span = spans.length ? [spans[0][0], Math.max(...spans.map(([, end]) => end))] : null;
  return { text: units.map((unit) => unit.text).join("").trim(), span, special: units.every((unit) => unit.special) };
}

// A map from what /v1/explain answers.
export function attributed(answer) {
  const weights = Float32Array.from(answer.weights.flat());
  const more = { signed: answer.signed, probabilities: answer.probabilities, answer };
  return new WeightMap(answer.outputs.units, answer.inputs.units, weights, more);
}

// The pieces with the largest weight in a cell of words; the cell itself where it is of pieces.
export function strongestPieces(map, row, column) {
  if (!map.pieces) return [row, column];
  const { map: fine, rows, columns } = map.pieces;
  let best = [rows[row][0], columns[column][0]];
  for (let one = rows[row][0]; one < rows[row][1]; one++) {
    for (let other = columns[column][0]; other < columns[column][1]; other++) {
      if (fine.at(one, other) > fine.at(...best)) best = [one, other];
    }
  }
  return best;
}

export const sameUnits = (one, other) => one === other || (one.length === other.length && one.every((unit, at) => unit.text === other[at].text));
// A piece as people read it: tokenizers write spaces as a low bar.
export const labelOf = (unit) => unit.text.replaceAll("▁", " ").trim() || (unit.text ? "␣" : "∅");
