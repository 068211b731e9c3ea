// One bundle's tab: its form, what is asked of the service and when, and the explorer under it.
import { Newest, ask, events } from "./api.js";
import { calm, make } from "./dom.js";
import { Explorer } from "./explorer.js";
import { change, state } from "./state.js";
import { say, short } from "./strings.js";
import { dialogue, language } from "./task_asking.js";
import { embedding, other } from "./task_other.js";
import { answering, classification, masked, tagging } from "./task_reading.js";
import { writing } from "./task_writing.js";

const FORMS = { translation: writing, summarization: writing, classification, tagging, tagging_generative: tagging, answering, language, dialogue, masked, embedding };
const UNEXPLAINED = ["masked", "embedding"];
// What belongs to one output, and is gone with it.
const GONE = { prefix: undefined, pieces: undefined, other: undefined, cell: undefined, pin: undefined };

export class Bench {
  constructor(model) {
    this.model = model;
    this.newest = new Newest();
    this.runLater = calm(() => this.run(), 250);
    this.exploreLater = calm(() => this.explorer?.ask(), 300);
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.fill();
    this.form = (FORMS[model.task] ?? other)(this);
    this.explorer = UNEXPLAINED.includes(model.task) ? null : new Explorer(this);
    this.element = make("div", {}, make("section", { class: "card form", "aria-label": model.title }, this.facts(), this.form.element, this.problem), this.explorer?.element);
  }
  // What the address does not say comes from the first example.
  fill() {
    const golden = this.model.golden?.[0]?.input ?? {};
    const known = this.model.fields.some((name) => name in state.input);
    if (!known) change({ input: { ...this.model.fields.reduce((all, name) => ({ ...all, [name]: "" }), {}), ...only(golden, this.model.fields), ...(this.model.task === "embedding" ? { other: this.model.golden?.[1]?.input.text ?? "" } : {}) } });
    for (const name of this.model.fields) state.input[name] ??= "";
  }
  facts() {
    const scores = found(this.model.scores).slice(0, 3).map(([name, one]) => make("span", { title: one.signature ?? "", textContent: `${name} ${Number(one.value).toFixed(1)}` }));
    return make("p", { class: "facts soft small" }, make("span", { textContent: say(`task.${this.model.task}`) }), make("span", { textContent: say("facts.parameters", { count: short(this.model.parameters) }) }), scores);
  }
  open() {
    const golden = (this.model.golden ?? []).find((entry) => same(only(entry.input, this.model.fields), only(state.input, this.model.fields)));
    const plain = golden && !state.pieces && !Object.keys(state.settings).length;
    this.asking = this.input();
    if (plain) { this.text = golden.text; this.form.example(golden.text); }
    if (plain && this.form.sampled) this.exploreLater();
    else this.run();
  }
  close() { this.stop(); this.runLater.stop(); this.exploreLater.stop(); this.explorer?.stop(); }
  input() { return { ...state.input }; }
  // How the output has to begin, where it has to; blanks are made visible.
  get prefix() { return state.pieces === undefined ? "" : state.prefix?.trim() ? state.prefix : "␣"; }
  plain() { return only(this.input(), this.model.fields); }
  given() { return { ...this.plain(), ...(state.pieces ? { prefix_pieces: state.pieces } : {}) }; }
  // What the explorer asks about; a text that was drawn by chance has to be named.
  asked() { return { input: this.given(), settings: this.settings(), ...(this.form.sampled && this.text ? { target: this.text } : {}) }; }
  shown() { return this.text; }
  setting(name) { return state.settings[name] ?? this.model.settings?.[name]; }
  settings() { return { ...this.form.asks, ...Object.fromEntries(Object.entries(state.settings).map(([name, value]) => [name, number(value)])) }; }
  set(fields, { now = false, quiet = false } = {}) {
    change({ input: { ...state.input, ...fields }, ...GONE });
    this.leave();
    if (quiet) this.stop();
    else if (now) this.run();
    else this.runLater();
  }
  // Whoever types on does not wait for what was looked at before.
  leave() {
    this.exploreLater.stop();
    this.explorer?.stop();
  }
  choose(settings) {
    const kept = { ...state.settings, ...settings };
    for (const [name, value] of Object.entries(settings)) if (value === null) delete kept[name];
    change({ settings: kept, pin: undefined });
    this.leave();
    this.runLater();
  }
  example(entry) {
    change({ input: { ...state.input, ...only(entry.input, this.model.fields) }, ...GONE });
    this.reopen();
  }
  // The output shall begin with this; the rest is written anew.
  begin(prefix, pieces) {
    change({ prefix: pieces && prefix, pieces: pieces && JSON.stringify(pieces), cell: undefined, pin: undefined });
    this.run();
  }
  async run() {
    this.runLater.stop();
    this.exploreLater.stop();
    this.asking = this.input();
    const empty = !Object.values(this.asking).some((text) => text.trim());
    // What was put out for another text is not shown under none.
    this.element.classList.toggle("empty", empty);
    if (empty) return this.stop();
    this.form.busy?.(true);
    try {
      const found = await this.newest.run((signal) => (this.form.streams ? this.stream(signal) : this.predict(signal)));
      if (found) this.show(found);
    } catch (error) { this.fail(error); }
    if (!this.newest.busy) this.form.busy?.(false);
  }
  show(results) {
    this.problem.hidden = true;
    this.text = results[0].text;
    if (this.form.results) this.form.results(results); else this.form.result(results[0]);
    this.exploreLater();
  }
  fail(error) { this.problem.textContent = error.message; this.problem.hidden = false; }
  body() { return { model: this.model.id, inputs: this.form.inputs?.(this.asking) ?? [this.given()], settings: this.settings() }; }
  async predict(signal) { return (await ask("/v1/predict", this.body(), signal)).results; }
  async stream(signal) {
    let result = null;
    for await (const event of events("/v1/predict", { ...this.body(), stream: true }, signal)) {
      if (event.error) throw new Error(event.error.message);
      if (event.settled !== undefined) { this.text = event.settled; this.form.growing?.(event.settled); }
      if (event.result) result = event.result;
    }
    return result && [result];
  }
  stop() { this.newest.stop(); this.form.busy?.(false); }
  explored(explored) { this.form.explored?.(explored); }
  shade(map) { this.form.shade?.(map, this.explorer.explored); }
}

const only = (input, names) => Object.fromEntries(names.map((name) => [name, input[name] ?? ""]));
const same = (one, other) => Object.keys(one).every((name) => one[name] === other[name]);
const number = (value) => (value !== "" && Number.isFinite(Number(value)) ? Number(value) : value);

// Scores wherever they stand in what the bundle tells: { name: { value, signature } } under any heading.
function found(scores, names = []) {
  return Object.entries(scores ?? {}).flatMap(([name, one]) => {
    if (!one || typeof one !== "object") return [];
    return typeof one.value === "number" ? [[name, one]] : found(one, [...names, name]);
  });
}
