// How alike two texts are, and a plain form for whatever else is served.
import { clear, make } from "./dom.js";
import { examples, notes, panel, textField } from "./parts.js";
import { say } from "./strings.js";

export function embedding(bench) {
  const first = textField(say("embedding.first"), bench.input().text, (value) => bench.set({ text: value }));
  const second = textField(say("embedding.second"), bench.input().other ?? "", (value) => bench.set({ other: value }));
  const output = make("div", { class: "output", role: "region", "aria-live": "polite", "aria-label": say("embedding.output") });
  return {
    element: make("div", {}, make("div", { class: "sides" }, panel(null, first.element), panel(null, second.element)), panel(say("embedding.output"), output)),
    inputs: (input) => [{ text: input.text }, { text: input.other ?? "" }],
    example() { clear(output); },
    results([one, other]) {
      const alike = cosine(one.vector, other.vector);
      clear(output, make("p", { class: "headline", textContent: alike.toFixed(3) }), make("i", { class: "bar big-bar", style: { "--share": Math.max(0, alike) } }), make("p", { class: "soft", textContent: say("embedding.means", { size: one.vector.length }) }), notes(one));
    },
  };
}

function cosine(one, other) {
  const dot = (first, second) => first.reduce((sum, value, at) => sum + value * second[at], 0);
  return dot(one, other) / (Math.sqrt(dot(one, one) * dot(other, other)) || 1);
}

export function other(bench) {
  const fields = bench.model.fields.map((name) => textField(name, bench.input()[name], (value) => bench.set({ [name]: value })));
  const output = make("div", { class: "output", role: "region", "aria-live": "polite", "aria-label": say("output") });
  return {
    element: make("div", { class: "sides" }, panel(null, fields.map((one) => one.element), examples(bench)), panel(say("output"), output)),
    example(text) { clear(output, text); },
    result(result) { clear(output, make("p", { class: "reading", textContent: result.text ?? "" }), notes(result)); },
  };
}
