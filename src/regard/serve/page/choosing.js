// Which attention, layer and head are shown, and what they are called.
import { choice, labelled, make } from "./dom.js";
import { change, state } from "./state.js";
import { say, sayOr } from "./strings.js";

const ORDER = ["cross", "pool", "self"];

// What the address says, where the model has it; else what outputs look at inputs with, its last layer, all heads.
export function chosen(explored) {
  const all = explored?.attentions ?? [];
  const named = all.findIndex((one) => one.name === state.attention);
  const usual = ORDER.map((kind) => all.findIndex((one) => one.kind === kind && one.keys === "inputs" && one.queries !== "inputs")).find((at) => at >= 0) ?? 0;
  const attention = named >= 0 ? named : usual, found = all[attention];
  if (!found) return { attention: 0, layer: 0, head: "mean" };
  const layer = within(state.layer, found.layers) ?? found.layers - 1;
  return { attention, layer, head: found.heads === 1 ? 0 : within(state.head, found.heads) ?? "mean" };
}

const within = (text, count) => (text !== undefined && /^\d+$/.test(text) && Number(text) < count ? Number(text) : null);

export const attentionTitle = (one) => sayOr(`attention.${one.kind}.${one.queries}.${one.keys}`, one.title);

export function attentionChooser(explored, now) {
  const all = explored.attentions, found = all[now.attention];
  const count = (total, name) => Array.from({ length: total }, (_, at) => [at, `${say(name)} ${at + 1}`]);
  const heads = found.heads > 1 ? [["mean", say("head.mean.long")], ...count(found.heads, "head")] : count(1, "head");
  return make("div", { class: "row wrap" },
    labelled(say("choose.attention"), choice(all.map((one) => [one.name, attentionTitle(one)]), found.name, (name) => change({ attention: name, layer: undefined, head: undefined, pin: undefined, method: undefined }))),
    labelled(say("choose.layer"), choice(count(found.layers, "layer"), now.layer, (layer) => change({ layer, method: undefined }))),
    labelled(say("choose.head"), choice(heads, now.head, (head) => change({ head, method: undefined }))));
}

// What rows and columns stand for, for those who hear the page.
export function titles(attention) {
  const side = (name) => say(`side.${name}`);
  return { rows: side(attention ? attention.queries : "outputs"), columns: side(attention ? attention.keys : "inputs") };
}
