// Room 6: remedies tried side by side on a file or a built-in set by a job; the recommendation, the arms, the report.
import { write } from "../address.js";
import { get } from "../api.js";
import { choice, recipe, slider } from "../controls.js";
import { bars, el, factTable, head, table } from "../dom.js";
import { dataChooser } from "../files.js";
import { follow, jobLine, result, start } from "../jobs.js";
import { Drawing } from "../plots.js";

const COLUMNS = { labels: "Labels", split: "Split into train and test" };

export function mount(place, { values }) {
  const stops = [], line = jobLine({ pausable: true }), code = recipe(), verdict = el("p", { class: "verdict", "aria-live": "polite" }), shown = el("div", { class: "stack" }), more = el("div", { class: "stack" });
  const drawings = ["gains", "metrics"].map(name => new Drawing(`trial-${name}`));
  const asked = { learner: "logistic", metric: null, repeats: 2 };
  code.hidden = true;
  const sizes = el("section", { class: "panel", hidden: true });
  let sets = {};
  const data = dataChooser({ label: "Data", columns: COLUMNS, otherwise: "detected automatically", stops, onChange: draw });
  function draw(chosen, column) {
    const rows = column ? column.largest : chosen.upload ? [] : Object.entries(sets[chosen.builtin] ?? {});
    const more = column && column.values > rows.length ? `, the ${rows.length} largest of ${column.values}` : "";
    sizes.hidden = !rows.length;
    sizes.replaceChildren(el("h2", { text: `Examples of each class${more}` }), bars(rows));
  }
  const learner = choice({ label: "Learner", options: [["logistic", "logistic"]], value: "logistic", onChange: value => { asked.learner = value; } });
  const usual = ["", "automatic"];
  const metric = choice({ label: "Metric to improve", options: [usual], value: "", onChange: value => { asked.metric = value || null; } });
  const fill = (control, options) => { const before = control.select.value; control.select.replaceChildren(...options.map(([value, text]) => el("option", { value, text }))); control.set(before); };
  get("/api/trial/choices").then(found => { fill(learner, found.learners.map(name => [name, name])); fill(metric, [usual, ...Object.entries(found.metrics)]); sets = found.sets; draw(data.asked()); }).catch(() => {});
  const repeats = slider({ label: "Repeats of the five folds (more decide close calls)", min: 1, max: 20, step: 1, value: asked.repeats, onInput: value => { asked.repeats = Math.round(value); } });
  const budget = el("input", { type: "number", min: "1", max: "600", step: "any", placeholder: "no limit", "aria-label": "Time limit in seconds" });
  const hint = el("p", { class: "soft", text: "Every remedy is trained and tested on the same folds as plain training. Choose a file, or start with the built-in digits, which take about a minute." });
  const go = el("button", { class: "primary", type: "button", text: "Try the remedies", on: { click: async () => {
    go.disabled = true;
    clear();
    try {
      const job = await start("/api/trial/run", { ...data.asked(), ...asked, budget: Number(budget.value) > 0 ? Number(budget.value) : null });
      write("trial", { job: job.id });
      watch(job);
    } catch (error) { line.fail(error.message); go.disabled = false; }
  } } });
  function clear() { shown.replaceChildren(); more.replaceChildren(); verdict.textContent = ""; code.hidden = true; drawings.forEach(drawing => drawing.show(null)); }
  function watch(job) {
    line.show(job);
    stops.push(follow(job.id, { status: line.show, end: async last => { go.disabled = false; if (last.state === "done") show(job.id, await result(job.id)); } }));
  }
  function show(id, found) {
    const address = `/api/jobs/${id}/report`;
    hint.hidden = true;
    verdict.textContent = found.headline;
    verdict.className = "verdict";
    shown.replaceChildren(...found.tables.map(one => el("section", { class: "panel" }, el("h2", { text: one.title }), table(one.heads, one.rows.map(row => row.map(long))))));
    found.figures.forEach((figure, k) => drawings[k]?.show(figure));
    more.replaceChildren(
      el("section", { class: "panel" }, el("h2", { text: "Train it" }), el("pre", { tabindex: "0", "aria-label": "Python that trains it", text: found.code })),
      el("details", { class: "panel" }, el("summary", { text: "How it was tried" }), factTable(found.about)),
      el("section", {}, el("div", { class: "row between" }, el("h2", { text: "The report" }), el("a", { href: `${address}?download=true`, download: "", text: "Download the report" })),
        el("iframe", { class: "report", title: "Report of the trial", sandbox: "allow-scripts allow-downloads", src: address })));
    code.hidden = false;
    code.show(found.recipe);
  }
  place.append(head("Trial", "Which remedy should you train with? Each is tried on your data by cross-validation and compared with its forecast. Files stay on this machine."),
    el("div", { class: "columns" }, el("section", { class: "panel", "aria-label": "Settings" }, data.elements, learner, metric, repeats, el("label", { class: "field" }, el("span", { text: "Time limit in seconds (arms that cannot win are dropped)" }), budget), el("div", { class: "row" }, go), line),
      el("div", { class: "stack" }, hint, verdict, sizes, shown, drawings.map(drawing => [drawing.element, drawing.caption]).flat(), more, code)));
  const job = values.get("job");
  if (/^[0-9a-f]{16}$/.test(job ?? "")) get(`/api/jobs/${job}`).then(watch).catch(error => line.fail(error.message));
  return () => { stops.forEach(stop => stop()); drawings.forEach(drawing => drawing.remove()); };
}

// A sentence in a cell (why an arm was skipped) may be broken, a number may not.
const long = cell => (cell.length > 40 ? el("span", { class: "words", text: cell }) : cell);
