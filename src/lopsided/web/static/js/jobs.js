// Jobs: start one, follow its events, and the tray that shows them all.
import { get, post } from "./api.js";
import { el } from "./dom.js";

const ENDED = ["done", "failed", "cancelled"];

export function follow(id, { status = () => {}, data = () => {}, end = () => {} }) {
  const source = new EventSource(`/api/jobs/${id}/events`);
  let lost = 0;
  source.addEventListener("data", event => data(JSON.parse(event.data)));
  source.addEventListener("status", event => {
    lost = 0;
    const now = JSON.parse(event.data);
    status(now);
    if (ENDED.includes(now.state)) { source.close(); end(now); refresh(); }
  });
  source.addEventListener("error", () => { if (++lost > 5) { source.close(); status({ state: "failed", error: "The server does not answer; is lopsided serve still running?" }); } });
  return () => source.close();
}

// A room that was opened without settings of its own starts its example, unless much work is waiting already.
const BUSY = 4;
export async function example(values, ...begin) {
  if ([...values.keys()].length) return;
  try { if ((await get("/api/jobs")).filter(job => !ENDED.includes(job.state)).length < BUSY) begin.forEach(one => one()); } catch { /* the room stays empty */ }
}

export const result = id => get(`/api/jobs/${id}/result`);
export const cancel = id => post(`/api/jobs/${id}/cancel`);
export const pause = (id, resume) => post(`/api/jobs/${id}/${resume ? "resume" : "pause"}`);

export async function start(path, body) {
  const status = await post(path, body);
  refresh();
  return status;
}

export function words(job) {
  if (job.state === "waiting") return job.position ? `waiting behind ${job.position + 1} jobs` : "waiting";
  if (job.state === "failed") return job.error ?? "failed";
  if (job.state === "done") return `done in ${job.seconds.toFixed(1)} s`;
  return job.state === "running" ? job.words || "starting" : job.state;
}

// A line under a button: progress, what happens, cancel and pause.
export function jobLine({ pausable = false } = {}) {
  const bar = el("progress", { hidden: true, "aria-label": "Progress" }), text = el("span", { role: "status", class: "soft" });
  let current = null;
  const stop = el("button", { class: "small", type: "button", text: "Cancel", hidden: true, on: { click: () => current && cancel(current.id) } });
  const rest = el("button", { class: "small", type: "button", text: "Pause", hidden: true, on: { click: () => current && pause(current.id, current.state === "paused").catch(() => {}) } });
  const element = el("div", { class: "job-line", hidden: true }, bar, el("div", { class: "row between" }, text, el("span", { class: "row" }, rest, stop)));
  element.show = job => {
    current = job;
    element.hidden = false;
    const active = !ENDED.includes(job.state);
    bar.hidden = stop.hidden = !active;
    rest.hidden = !pausable || !["running", "paused"].includes(job.state);
    rest.textContent = job.state === "paused" ? "Resume" : "Pause";
    if (job.total) { bar.max = job.total; bar.value = job.done ?? 0; } else bar.removeAttribute("value");
    text.className = job.state === "failed" ? "error" : "soft";
    text.textContent = words(job);
  };
  element.fail = sentence => { element.hidden = false; bar.hidden = stop.hidden = rest.hidden = true; text.className = "error"; text.textContent = sentence; };
  return element;
}

const tray = () => document.getElementById("jobs");
let timer = null;
export async function refresh() {
  clearTimeout(timer);
  let jobs;
  try { jobs = await get("/api/jobs"); } catch { return; }
  const active = jobs.filter(job => !ENDED.includes(job.state));
  document.getElementById("jobs-button").textContent = active.length ? `Jobs (${active.length})` : "Jobs";
  if (!tray().hidden) {
    tray().replaceChildren(el("h2", { text: "Jobs" }), ...(jobs.length ? jobs.map(job => {
      const line = jobLine({ pausable: true });
      line.show(job);
      return el("div", { class: "job" }, el("strong", { text: job.title }), line);
    }) : [el("p", { class: "soft", text: "No jobs yet. Long computations run here, one at a time." })]));
  }
  if (active.length || !tray().hidden) timer = setTimeout(refresh, 1500);
}

export function installTray() {
  const button = document.getElementById("jobs-button");
  const toggle = open => { tray().hidden = !open; button.setAttribute("aria-expanded", String(open)); if (open) refresh(); };
  button.addEventListener("click", () => toggle(tray().hidden));
  document.addEventListener("keydown", event => { if (event.key === "Escape" && !tray().hidden) { toggle(false); button.focus(); } });
  refresh();
}
