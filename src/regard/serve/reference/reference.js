// Every route of openapi.json with its fields and a form to try it. Data become text, never markup.

const made = (name, text, ...children) => {
  const element = document.createElement(name);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const resolved = (schema, whole) => {
  const name = schema?.$ref?.split("/").pop();
  return name ? whole.components.schemas[name] : schema ?? {};
};

const kind = (given, whole) => {
  const schema = resolved(given, whole);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map((one) => kind(one, whole)).join(" | ");
  if (schema.type === "array") return `[${kind(schema.items, whole)}]`;
  if (schema.type === "object" && !schema.properties) return "object";
  return schema.type ?? schema.title ?? "anything";
};

const example = (given, whole, depth = 0) => {
  const schema = resolved(given, whole);
  if (depth > 4) return null;
  if (schema.examples?.length) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return example(several[0], whole, depth + 1);
  if (schema.type === "array") return [example(schema.items, whole, depth + 1)];
  if (schema.type === "string") return "A dog runs.";
  if (schema.type === "integer" || schema.type === "number") return 0;
  if (schema.type === "boolean") return false;
  const needed = new Set(schema.required ?? []);
  const own = Object.entries(schema.properties ?? {}).filter(([name]) => needed.has(name));
  return Object.fromEntries(own.map(([name, one]) => [name, example(one, whole, depth + 1)]));
};

const fields = (schema, whole) => {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, one]) =>
    made("tr", "", made("td", name), made("td", kind(one, whole)), made("td", needed.has(name) ? "needed" : ""),
      made("td", one.description ?? "")));
  if (!rows.length) return made("p", "");
  return made("table", "", made("tr", "", ...["field", "kind", "", ""].map((text) => made("th", text))), ...rows);
};

const asked = async (method, path, type, body, shown) => {
  shown.textContent = "…";
  const headers = body === null ? {} : { "content-type": type };
  const key = document.getElementById("key").value;
  if (key) headers.authorization = `Bearer ${key}`;
  try {
    const answer = await fetch(path.replace(/^\//, ""), { method, headers, body });
    const text = await answer.text();
    let told = text;
    try { told = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON, and shown as it is. */ }
    shown.textContent = `${answer.status} ${answer.statusText}\n\n${told.slice(0, 100000)}`;
  } catch (error) {
    shown.textContent = String(error);
  }
};

const form = (method, path, schema, whole) => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]);
  const inputs = names.map((name) => [name, made("input")]);
  const area = made("textarea");
  area.rows = 6;
  area.setAttribute("aria-label", "body");
  if (schema) area.value = JSON.stringify(example(schema, whole), null, 2);
  const shown = made("pre");
  shown.setAttribute("aria-live", "polite");
  const button = made("button", "Send");
  button.addEventListener("click", () => {
    const filled = inputs.reduce((text, [name, input]) => text.replace(`{${name}}`, encodeURIComponent(input.value)), path);
    asked(method, filled, "application/json", schema ? area.value : null, shown);
  });
  const labels = inputs.map(([name, input]) => made("label", `${name} `, input));
  return made("div", "", ...labels, ...(schema ? [area] : []), made("div", "", button), shown);
};

const answered = (told, whole) => {
  const given = told.responses?.["200"]?.content?.["application/json"]?.schema;
  if (!given) return [];
  const schema = resolved(given.items ?? given, whole);
  if (!schema.properties) return [];
  return [made("h3", given.items ? "Answer: a list of" : "Answer"), made("p", schema.description), fields(schema, whole)];
};

const route = (path, method, told, whole) => {
  const given = told.requestBody?.content?.["application/json"]?.schema;
  const head = made("summary", "", made("code", `${method.toUpperCase()} ${path}`), made("span", told.description ?? told.summary));
  const schema = given ? resolved(given, whole) : null;
  return made("details", "", head, ...(schema ? [fields(schema, whole)] : []),
    form(method.toUpperCase(), path, schema, whole), ...answered(told, whole));
};

const whole = await (await fetch("openapi.json")).json();
document.getElementById("told").replaceChildren(made("span", `${whole.info.title} ${whole.info.version}: `),
  Object.assign(made("a", "openapi.json"), { href: "openapi.json" }));
for (const [path, methods] of Object.entries(whole.paths)) {
  for (const [method, told] of Object.entries(methods)) {
    document.getElementById("routes").append(route(path, method, told, whole));
  }
}
