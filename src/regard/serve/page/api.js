// The service: requests, streams, and the key it may ask for.
import { askForKey } from "./key.js";
import { say } from "./strings.js";

const KEY = "regard-key";

export class Problem extends Error {
  constructor(message, status) { super(message); this.status = status; }
}

const key = () => sessionStorage.getItem(KEY) ?? "";

function request(body, signal) {
  const headers = key() ? { Authorization: `Bearer ${key()}` } : {};
  if (body === undefined) return { headers, signal };
  return { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

// What the service answers; asks for a key as long as one is missing or wrong.
async function answered(path, body, signal) {
  for (;;) {
    const response = await fetch(path, request(body, signal)).catch((error) => { throw error.name === "AbortError" ? error : new Problem(say("problem.gone"), 0); });
    if (response.ok) return response;
    const problem = await told(response);
    if (response.status !== 401) throw problem;
    sessionStorage.setItem(KEY, await askForKey(problem.message, key()));
  }
}

async function told(response) {
  const content = await response.json().catch(() => null);
  const message = content?.error?.message ?? content?.detail ?? response.statusText;
  return new Problem(typeof message === "string" ? message : JSON.stringify(message), response.status);
}

export const ask = async (path, body, signal) => (await answered(path, body, signal)).json();
export const file = async (path, body, signal) => (await answered(path, body, signal)).blob();

// Server-sent events as they come, until the service says that it is done.
export async function* events(path, body, signal) {
  const reader = (await answered(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const content of parts.map(data).filter(Boolean)) {
      if (content === "[DONE]") return;
      yield JSON.parse(content);
    }
  }
}

const data = (event) => event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");

// Work of which only the newest counts: whatever was under way is cancelled. A cancelled one gives undefined.
export class Newest {
  stop() { this.controller?.abort(); this.controller = null; }
  get busy() { return Boolean(this.controller); }
  async run(work) {
    this.stop();
    const mine = new AbortController();
    this.controller = mine;
    try {
      const found = await work(mine.signal);
      return mine.signal.aborted ? undefined : found;
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    } finally {
      if (this.controller === mine) this.controller = null;
    }
  }
}
