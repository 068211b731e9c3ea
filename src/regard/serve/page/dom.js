// Elements are made here and only here. Text is textContent, never markup.
const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["textContent", "value", "checked", "disabled", "hidden", "selected", "tabIndex", "htmlFor", "className"]);

export const make = (tag, settings = {}, ...children) => filled(document.createElement(tag), settings, children);
export const draw = (tag, settings = {}, ...children) => filled(document.createElementNS(SVG, tag), settings, children);

function filled(node, settings, children) {
  for (const [name, value] of Object.entries(settings)) put(node, name, value);
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function put(node, name, value) {
  if (value === null || value === undefined) return;
  if (name.startsWith("aria-")) node.setAttribute(name, String(value));
  else if (value === false) return;
  else if (name === "on") for (const [kind, act] of Object.entries(value)) node.addEventListener(kind, act);
  else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
  else if (PROPERTIES.has(name)) node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

export const clear = (node, ...children) => {
  node.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

let count = 0;
export const unique = (name) => `${name}-${++count}`;

// A control under its label; the label is bound to it.
export function labelled(text, control, settings = {}) {
  control.id ||= unique("control");
  return make("div", { ...settings, class: `field ${settings.class ?? ""}` }, make("label", { htmlFor: control.id, textContent: text }), control);
}

export function choice(options, value, act, settings = {}) {
  const made = options.map(([key, text]) => make("option", { value: key, textContent: text, selected: String(key) === String(value) }));
  return make("select", { ...settings, on: { change: (event) => act(event.target.value) } }, made);
}

// A picture in a button, drawn with lines.
export const icon = (...paths) => draw("svg", { class: "icon", viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, paths.map((d) => draw("path", { d })));
export const POWER = ["M8 2V7.5", "M4.6 4.2A5 5 0 1 0 11.4 4.2"];
export const CROSS = ["M4 4L12 12", "M12 4L4 12"];

export const button = (text, act, settings = {}) => make("button", { type: "button", textContent: text, on: { click: act }, ...settings });

// A small cross that takes something away.
export function dropper(act, label) {
  const made = button("", act, { class: "plain", "aria-label": label, title: label });
  made.append(icon(...CROSS));
  return made;
}

// What acts a while after the last call; `now` acts at once if something waits.
export function calm(act, milliseconds) {
  let timer = null, last = [];
  const later = (...given) => {
    last = given;
    clearTimeout(timer);
    timer = setTimeout(() => { timer = null; act(...last); }, milliseconds);
  };
  later.stop = () => { clearTimeout(timer); timer = null; };
  later.now = () => { if (timer !== null) { later.stop(); act(...last); } };
  return later;
}

// Python counts characters, the browser halves of some; spans are Python's.
export const characters = (text) => Array.from(text);
export const part = (letters, start, end) => letters.slice(start, end).join("");

// Rebuilds what stands in a box; whoever works it by keyboard stays on the control they were on.
export function rebuilt(box, ...children) {
  const controls = () => [...box.querySelectorAll("select, button, input, [tabindex]")];
  const at = controls().indexOf(document.activeElement);
  clear(box, ...children);
  if (at >= 0) controls()[at]?.focus();
}
