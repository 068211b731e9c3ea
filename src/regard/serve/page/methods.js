// Which method explains, what it cannot tell, and what the audit of this model found.
import { button, choice, labelled, make } from "./dom.js";
import { change } from "./state.js";
import { say, sayOr } from "./strings.js";

// These read attention, which not every model has.
const READING = ["weights", "rollout", "flow", "attention_gradient", "norms", "value_zeroing"];

export const usable = (model, attentive) => Object.keys(model.methods).filter((name) => attentive || !READING.includes(name));

export function methodChooser(model, names, now, units, check) {
  const options = names.map((name) => [name, sayOr(`method.${name}`, name)]);
  const select = choice(options, now, (method) => change({ method, pin: undefined }));
  return make("div", { class: "card method" },
    make("div", { class: "row wrap" }, labelled(say("choose.method"), select), unitsSwitch(units)),
    make("dl", { class: "trust" },
      line("method.caveat", sayOr(`caveat.${now}`, model.methods[now] ?? "")),
      model.audit ? line("audit.title", model.audit) : model.looks ? unaudited() : null,
      checked(check)));
}

const line = (name, text) => [make("dt", { textContent: say(name) }), make("dd", { textContent: text })];
const unaudited = () => [make("dt", { textContent: say("audit.title") }), make("dd", {}, say("audit.none"), " ", make("code", { textContent: say("audit.command") }))];

// A number is how far rebuilt weights are from the model's own output; a method has names for what it checks.
function checked(check) {
  const values = typeof check === "number" ? [check] : Object.values(check ?? {});
  if (!values.length) return null;
  const worst = Math.max(...values.map(Math.abs));
  return line("check.title", say(typeof check === "number" ? "check.worst" : "check.complete", { worst: worst === 0 ? "0" : worst.toExponential(1) }));
}

function unitsSwitch(units) {
  const one = (name) => button(say(`units.${name}`), () => change({ units: name === "words" ? undefined : name, pin: undefined }), { "aria-pressed": units === name });
  return make("div", { class: "field" }, make("span", { class: "label", textContent: say("units.title") }), make("div", { class: "segments", role: "group", "aria-label": say("units.title") }, one("words"), one("pieces")));
}
