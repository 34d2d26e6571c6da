// Requests to the server that the page came from; errors are sentences.

export class Problem extends Error {}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer; is lopsided serve still running?");
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(body?.error ?? `The server answered ${response.status}.`);
  return body;
}

export const get = (path, signal) => answer(path, { signal });
export const post = (path, body, signal) =>
  answer(path, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });

export async function upload(file) {
  const form = new FormData();
  form.append("file", file);
  return answer("/api/uploads", { method: "POST", body: form });
}

const PATIENCE = 150; // milliseconds after which a newer request replaces the one under way

// The latest wins: while an answer is under way the newest question waits; if the answer is slow it is given up.
export function latest(ask, { show, fail, busy }) {
  let controller = null, began = 0, waiting = null, timer = null;
  const run = async input => {
    controller = new AbortController();
    const mine = controller;
    began = performance.now();
    const slow = setTimeout(() => mine === controller && busy?.(true), PATIENCE);
    try {
      const found = await ask(input, mine.signal);
      if (mine === controller && !mine.signal.aborted) show(found, performance.now() - began);
    } catch (error) {
      if (error.name !== "AbortError" && mine === controller) fail(error.message);
    } finally {
      clearTimeout(slow);
      if (mine === controller) {
        controller = null;
        busy?.(false);
        if (waiting) { const next = waiting; waiting = null; run(next.input); }
      }
    }
  };
  const put = input => {
    clearTimeout(timer);
    if (!controller) return void run(input);
    waiting = { input };
    timer = setTimeout(() => {
      if (!controller || !waiting) return;
      const next = waiting; waiting = null;
      controller.abort(); run(next.input);
    }, Math.max(0, PATIENCE - (performance.now() - began)));
  };
  put.cancel = () => { clearTimeout(timer); waiting = null; controller?.abort(); controller = null; busy?.(false); };
  return put;
}
