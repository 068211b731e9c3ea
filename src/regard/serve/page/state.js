// The state of the page, and the address that holds all of it.
import { calm } from "./dom.js";

const PLAIN = ["model", "lang", "theme", "method", "attention", "layer", "head", "pin", "units", "prefix", "pieces", "off", "cell", "other"];
const GROUPS = { "in.": "input", "set.": "settings" };
export const state = { input: Object.create(null), settings: Object.create(null) };
const watchers = [];
// The address as it was last taken or written; another one is news that `hashchange` is about to bring.
let known = "";

function read() {
  const found = { input: Object.create(null), settings: Object.create(null) };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const group = Object.keys(GROUPS).find((prefix) => name.startsWith(prefix));
    if (group) found[GROUPS[group]][name.slice(group.length)] = value;
    else if (PLAIN.includes(name)) found[name] = value;
  }
  return found;
}

export function address() {
  const pairs = new URLSearchParams();
  for (const name of PLAIN) if (state[name] !== undefined && state[name] !== "") pairs.set(name, state[name]);
  for (const [prefix, group] of Object.entries(GROUPS)) {
    for (const [name, value] of Object.entries(state[group])) pairs.set(prefix + name, value);
  }
  return `#${pairs}`;
}

// Browsers refuse too many changes of the address in a row.
const write = calm(() => {
  if (location.hash !== known) return;
  history.replaceState(null, "", address());
  known = location.hash;
}, 120);

export function change(changes) {
  const names = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  Object.assign(state, changes);
  write();
  if (names.length) for (const watcher of watchers) watcher(new Set(names));
}

export const settle = () => write.now();
export const watch = (watcher) => watchers.push(watcher);

function take() {
  known = location.hash;
  const found = read();
  for (const name of PLAIN) state[name] = found[name];
  Object.assign(state, { input: found.input, settings: found.settings });
}

export function start(reopened) {
  take();
  addEventListener("hashchange", () => { if (location.hash !== known) { take(); reopened(); } });
}
