// Tasks that read one text: its class, the names in it, the answer to a question, what stands at a mark.
import { button, clear, make } from "./dom.js";
import { ink, kindOf, shade } from "./colours.js";
import { bars, examples, marked, notes, panel, textField } from "./parts.js";
import { say } from "./strings.js";

const region = (name, settings = {}) => make("div", { class: "output", role: "region", "aria-live": "polite", "aria-label": say(name), ...settings });

export function classification(bench) {
  const text = textField(say("classification.text"), bench.input().text, (value) => bench.set({ text: value }), { rows: 4 });
  const output = region("classification.output"), shaded = make("div", { class: "shaded", "aria-label": say("classification.words") });
  const element = make("div", { class: "sides" }, panel(null, text.element, examples(bench)), panel(say("classification.output"), output, shaded));
  return {
    element,
    example(label) { clear(output, make("p", { class: "headline", textContent: label })); clear(shaded); },
    result(result) {
      const pairs = Object.entries(result.probabilities).sort((one, other) => other[1] - one[1]);
      clear(output, make("p", { class: "headline", textContent: result.text || say("classification.none") }), bars(pairs, { first: pairs[0]?.[0] }), notes(result));
    },
    shade(map, explored) { clear(shaded, shadedText(map, explored)); },
  };
}

// The text that was read, each word as dark as it counts; the map may be of any method.
function shadedText(map, explored) {
  const row = 0, { text } = explored.inputs;
  const spans = map.columns.map((unit, at) => [unit, at]).filter(([unit]) => unit.span && !unit.special && unit.span[1] > unit.span[0]);
  const wrap = (at) => (word) => { const share = map.share(row, at); return make("span", { class: "shade", title: map.at(row, at).toFixed(3), style: { "background-color": shade(share), color: ink(share) } }, word); };
  return [make("h4", { class: "label", textContent: say("classification.words") }), make("p", { class: "reading" }, marked(text, spans.map(([unit, at]) => [...unit.span, wrap(at)])))];
}

export function tagging(bench) {
  const text = textField(say("tagging.text"), bench.input().text, (value) => bench.set({ text: value }), { rows: 4 });
  const output = region("tagging.output");
  const element = make("div", { class: "sides" }, panel(null, text.element, examples(bench)), panel(say("tagging.output"), output));
  return {
    element,
    example(found) { clear(output, make("p", { class: "reading", textContent: found })); },
    result(result) {
      const labels = [...new Set(result.entities.map((one) => one.label))].sort(), read = bench.asking.text;
      const entity = (one) => (word) => make("mark", { class: `entity kind-${kindOf(labels, one.label)}`, title: `${one.label} ${one.confidence.toFixed(2)}` }, word, make("small", { textContent: one.label }));
      const legend = labels.map((label) => make("li", {}, make("i", { class: `swatch kind-${kindOf(labels, label)}`, "aria-hidden": "true" }), label, make("span", { class: "soft", textContent: ` ${result.entities.filter((one) => one.label === label).length}` })));
      clear(output, make("p", { class: "reading tall" }, marked(read, result.entities.map((one) => [one.start, one.end, entity(one)]))),
        labels.length ? make("ul", { class: "kinds", "aria-label": say("legend.title") }, legend) : make("p", { class: "soft", textContent: say("tagging.none") }), notes(result));
    },
  };
}

export function answering(bench) {
  const question = textField(say("answering.question"), bench.input().question, (value) => bench.set({ question: value }), { rows: 1 });
  const passage = textField(say("answering.passage"), bench.input().passage, (value) => bench.set({ passage: value }), { rows: 6 });
  const output = region("answering.output");
  const element = make("div", { class: "sides" }, panel(null, question.element, passage.element, examples(bench)), panel(say("answering.output"), output));
  const mark = (word) => make("mark", { class: "answer" }, word);
  return {
    element,
    asks: { "predict.best": 3 },
    example(found) {
      const at = found ? bench.input().passage.indexOf(found) : -1;
      const start = at < 0 ? 0 : Array.from(bench.input().passage.slice(0, at)).length;
      clear(output, make("p", { class: "headline", textContent: found || say("answering.none") }), make("p", { class: "reading" }, marked(bench.input().passage, at < 0 ? [] : [[start, start + Array.from(found).length, mark]])));
    },
    result(result) {
      const spans = result.start === null || result.start === undefined ? [] : [[result.start, result.end, mark]];
      const others = (result.alternatives ?? []).map((one) => [one.text || say("answering.none"), one.confidence]);
      clear(output, make("p", { class: "headline", textContent: result.text || say("answering.none") }), make("p", { class: "reading" }, marked(bench.asking.passage, spans)), others.length ? bars(others, { first: result.text }) : null, notes(result));
    },
  };
}

const MARK = "<mask>";

export function masked(bench) {
  const text = textField(say("masked.text"), bench.input().text, (value) => bench.set({ text: value }), { rows: 3 });
  const insert = button(say("masked.insert"), () => {
    const { selectionStart: from, selectionEnd: to, value } = text.field;
    text.put(value.slice(0, from) + MARK + value.slice(to));
    text.field.setSelectionRange(from + MARK.length, from + MARK.length);
    text.field.focus();
    bench.set({ text: text.field.value });
  }, { class: "small" });
  const output = region("masked.output");
  const element = make("div", { class: "sides" }, panel(null, text.element, insert, examples(bench)), panel(say("masked.output"), output));
  return {
    element,
    example(found) { clear(output, make("p", { class: "reading", textContent: found })); },
    result(result) {
      const lists = result.fills.map((fills, at) => [make("h4", { class: "label", textContent: say("masked.at", { at: at + 1 }) }), bars(fills.map((one) => [one.text.trim() || one.piece, one.probability]))]);
      clear(output, make("p", { class: "headline reading", textContent: result.text }), lists.length ? lists : make("p", { class: "soft", textContent: say("masked.hint") }), notes(result));
    },
  };
}
