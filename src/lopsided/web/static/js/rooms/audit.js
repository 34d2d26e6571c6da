// Room 5: a file or a built-in set, its columns named, audited by a job; the report in a frame without rights.
import { write } from "../address.js";
import { get } from "../api.js";
import { recipe } from "../controls.js";
import { el, head, table } from "../dom.js";
import { dataChooser } from "../files.js";
import { example, follow, jobLine, result, start } from "../jobs.js";

const COLUMNS = { labels: "Labels", predictions: "Predictions", split: "Split into train and test" };
const ARRAYS = { probabilities: "Probabilities", logits: "Logits", classifier: "Classifier weights", bias: "Classifier bias" };

export function mount(place, { values }) {
  const stops = [], line = jobLine(), code = recipe(), verdict = el("p", { class: "verdict", "aria-live": "polite" }), shown = el("div", { class: "stack" });
  code.hidden = true;
  const data = dataChooser({ label: "Data", columns: COLUMNS, arrays: ARRAYS, otherwise: "detected automatically", stops });
  const decay = el("input", { type: "number", min: "0", step: "any", placeholder: "unknown", "aria-label": "Weight decay" });
  const go = el("button", { class: "primary", type: "button", text: "Audit", on: { click: async () => {
    go.disabled = true;
    shown.replaceChildren(); verdict.textContent = "";
    try {
      const job = await start("/api/audit/run", { ...data.asked(), weight_decay: Number(decay.value) > 0 ? Number(decay.value) : null });
      write("audit", { job: job.id });
      watch(job);
    } catch (error) { line.fail(error.message); go.disabled = false; }
  } } });
  function watch(job) {
    line.show(job);
    stops.push(follow(job.id, { status: line.show, end: async last => { go.disabled = false; if (last.state === "done") show(job.id, await result(job.id)); } }));
  }
  function show(id, found) {
    const level = found.facts.level.replaceAll(" ", "-");
    verdict.textContent = found.verdict;
    verdict.className = `verdict ${{ failing: "bad", "at-risk": "warn", healthy: "good" }[level] ?? ""}`;
    const chip = word => el("span", { class: `chip ${word.replaceAll(" ", "-")}`, text: word });
    const healthy = found.facts.findings.filter(one => one.level === "healthy"), alarms = found.facts.findings.filter(one => one.level !== "healthy");
    const skill = some => [...new Set(some.filter(one => one.skill).map(one => `${one.id.replaceAll("_", " ")}: ${one.skill}`))].map(told => el("p", { class: "soft", text: told }));
    const address = `/api/jobs/${id}/report`;
    shown.replaceChildren(
      alarms.length ? el("section", { class: "panel" }, el("h2", { text: "Findings" }), table(["level", "subject", "finding", "what to do"], alarms.map(one => [chip(one.level), one.subject, one.message, one.remedy])), skill(alarms)) : "",
      healthy.length ? el("details", { class: "panel" }, el("summary", { text: `${healthy.length} healthy` }), table(["level", "subject", "finding"], healthy.map(one => [chip(one.level), one.subject, one.message])), skill(healthy)) : "",
      found.facts.skipped.length ? el("details", { class: "panel" }, el("summary", { text: `${found.facts.skipped.length} checks did not run` }), table(["check", "why"], found.facts.skipped.map(one => [one.check, one.why]))) : "",
      el("section", {}, el("div", { class: "row between" }, el("h2", { text: "The report" }), el("a", { href: `${address}?download=true`, download: "", text: "Download the report" })),
        el("iframe", { class: "report", title: "Report of the audit", sandbox: "allow-scripts allow-downloads", src: address })));
    code.hidden = false;
    code.show(found.recipe);
  }
  place.append(head("Audit", "Which classes and groups of your data fail or are about to, why, and what to do about it. Files stay on this machine."),
    el("div", { class: "columns" }, el("section", { class: "panel", "aria-label": "Settings" }, data.elements, el("label", { class: "field" }, el("span", { text: "Weight decay of the network" }), decay), el("div", { class: "row" }, go), line),
      el("div", { class: "stack" }, verdict, shown, code)));
  const job = values.get("job");
  if (/^[0-9a-f]{16}$/.test(job ?? "")) get(`/api/jobs/${job}`).then(watch).catch(error => line.fail(error.message));
  else example(values, () => go.click());
  return () => stops.forEach(stop => stop());
}
