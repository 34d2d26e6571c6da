// Room 3: the phase diagram with the current point, and influence scores as a grid of pictures.
import { number, write } from "../address.js";
import { get, latest, post } from "../api.js";
import { choice, recipe, slider, statusLine } from "../controls.js";
import { csv, download, el, factTable, head, short, table } from "../dom.js";
import { chooseFile, fileChooser, forgetFile } from "../files.js";
import { example, follow, jobLine, result, start } from "../jobs.js";
import { Drawing } from "../plots.js";

export function mount(place, { values }) {
  const state = { feature_norm: number(values, "feature", 1, 0, 3.8), ratio: number(values, "ratio", 8, 1, 1400), classes: Math.round(number(values, "classes", 3, 2, 6)), per_class: Math.round(number(values, "per_class", 20, 5, 100)), seed: Math.round(number(values, "seed", 0, 0, 1e6)) };
  const stops = [];
  let borders = false; // whether the example still waits for them
  const status = statusLine(() => { phase.cancel(); status.say("cancelled"); });
  const diagram = new Drawing("phase-diagram", { tall: true, onClick: point => { if (point.data.type !== "heatmap") return; move(point.x, point.y); } });
  const facts = el("div", { class: "panel" }), code = recipe(), trained = el("div");
  const measure = el("button", { type: "button", class: "primary", text: "Measure the borders (takes some seconds)", hidden: true });
  const line = jobLine(), note = el("p", { class: "soft" });
  const phase = latest((body, signal) => post("/api/memorisation/phase", body, signal), {
    show: (found, took) => {
      facts.replaceChildren(el("h2", { text: "This problem" }), factTable([["signal term", short(found.signal)], ["ratio Γ", short(found.ratio)], ["region", found.region ?? "unknown until the borders are measured"],
        ...(found.constants ? [["fitted constants", `C1 = ${short(found.constants.C1)}, C2 = ${short(found.constants.C2)}, C3 = ${short(found.constants.C3)} and ${short(found.constants.C3_signal)}`]] : [])]));
      measure.hidden = Boolean(found.diagram);
      if (borders && !found.diagram && !measure.disabled) { borders = false; measure.click(); }
      note.textContent = found.note;
      diagram.show(found.diagram);
      code.show(found.recipe);
      status.say(`answered in ${took.toFixed(0)} ms`);
    },
    fail: sentence => status.say(sentence, true), busy: now => status.busy(now),
  });
  function ask() {
    write("memorisation", { feature: state.feature_norm, ratio: state.ratio, classes: state.classes, per_class: state.per_class, seed: state.seed || null });
    phase(state);
  }
  measure.addEventListener("click", () => run(measure, "/api/memorisation/measure", {}, line, () => ask()));
  const train = el("button", { type: "button", text: "Train a network here" });
  const trainLine = jobLine();
  train.addEventListener("click", () => run(train, "/api/memorisation/train", state, trainLine, found => trained.replaceChildren(
    el("h2", { text: "Trained" }), factTable([["test accuracy", short(found.accuracy)], ["per class", found.class_accuracy.map(value => short(value, 3)).join(", ")], ["training loss", short(found.train_loss)], ["training accuracy", short(found.train_accuracy)], ["Bayes rule on the noise alone", short(found.bayes)]]))));
  async function run(button, path, body, show, then) {
    button.disabled = true;
    try {
      const job = await start(path, body);
      show.show(job);
      stops.push(follow(job.id, { status: show.show, end: async last => { button.disabled = false; if (last.state === "done") then(await result(job.id)); } }));
    } catch (error) { show.fail(error.message); button.disabled = false; }
  }
  const norm = slider({ label: "Feature strength |u|", min: 0, max: 3.8, step: .05, value: state.feature_norm, onInput: value => { state.feature_norm = value; ask(); } });
  const ratio = slider({ label: "Noise correlation ratio Γ", min: 1, max: 1400, log: true, value: state.ratio, onInput: value => { state.ratio = value; ask(); } });
  function move(x, y) { state.feature_norm = x; state.ratio = Number(Number(y).toPrecision(4)); norm.set(x); ratio.set(state.ratio); ask(); }
  const controls = el("section", { class: "panel", "aria-label": "Settings" }, norm, ratio,
    slider({ label: "Classes", min: 2, max: 6, step: 1, value: state.classes, onInput: value => { state.classes = value; ask(); } }),
    slider({ label: "Examples per class", min: 5, max: 100, step: 1, value: state.per_class, onInput: value => { state.per_class = value; ask(); } }),
    slider({ label: "Seed of the training", min: 0, max: 50, step: 1, value: state.seed, onInput: value => { state.seed = value; ask(); } }),
    el("div", { class: "row" }, train), trainLine, trained);

  const scored = scores(stops);
  place.append(head("Memorisation", "A network that memorises noise can still be right on test data, if features are strong or if the noise of a class has directions of its own. Below: the examples with the most influence on their class."),
    el("div", { class: "columns" }, controls, el("div", { class: "stack" }, status, el("div", { class: "row" }, measure), line, diagram.element, note, facts, code)), scored.element);
  ask();
  example(values, () => { borders = true; if (!measure.hidden) measure.click(); }, () => scored.begin());
  return () => { phase.cancel(); stops.forEach(stop => stop()); diagram.remove(); };
}

function scores(stops) {
  const pictures = new Drawing("influence-scores", { tall: true }), line = jobLine(), classes = el("div", { class: "panel", hidden: true }), code = recipe();
  code.hidden = true;
  let asked = { builtin: "digits", per_class: 200, extremes: 8, upload: null, labels: null }, found = null;
  const builtin = choice({ label: "What to score", options: [["digits", "digits"]], value: "digits", onChange: value => { if (value === "file") return; chooser.clear(); builtin.set(value); asked = { ...asked, builtin: value, upload: null, labels: null }; } });
  get("/api/memorisation/sets").then(names => builtin.select.replaceChildren(...names.map(name => el("option", { value: name, text: name })))).catch(() => {});
  const label = choice({ label: "Column of labels", options: [], value: "", onChange: value => { asked.labels = value; } });
  label.hidden = true;
  const chooser = fileChooser({ onFile: facts => {
    asked = { ...asked, builtin: null, upload: facts.upload, labels: facts.label };
    chooseFile(builtin, facts.name);
    label.select.replaceChildren(...facts.columns.map(column => el("option", { value: column.name, text: `${column.name} (${column.values} values)` })));
    if (facts.label) label.set(facts.label); else asked.labels = facts.columns[0]?.name ?? null;
    label.hidden = false;
  }, onClear: () => { label.hidden = true; forgetFile(builtin); asked = { ...asked, builtin: builtin.select.value, upload: null, labels: null }; }, stops });
  const save = el("button", { class: "small", type: "button", text: "Scores as CSV", hidden: true, on: { click: () => {
    const names = Object.keys(found.scores);
    download("scores.csv", csv([names, ...found.scores.index.map((_, i) => names.map(name => found.scores[name][i]))]), "text/csv");
  } } });
  const go = el("button", { class: "primary", type: "button", text: "Score the examples", on: { click: async () => {
    go.disabled = true;
    try {
      const job = await start("/api/memorisation/score", asked);
      line.show(job);
      stops.push(follow(job.id, { status: line.show, end: async last => {
        go.disabled = false;
        if (last.state !== "done") return;
        found = await result(job.id);
        pictures.show({ panels: found.figures.flatMap(figure => figure.panels), caption: found.figures[0]?.caption });
        classes.replaceChildren(table(["class", "examples", "highest", "lowest", "examples with the highest"], found.classes.map(entry => [entry.label, entry.count, entry.highest, entry.lowest, entry.declined ?? entry.highest_examples.slice(0, 5).join(", ")])));
        classes.hidden = false;
        save.hidden = !found.scores;
        code.hidden = false;
        code.show(found.recipe);
      } }));
    } catch (error) { line.fail(error.message); go.disabled = false; }
  } } });
  const element = el("section", { class: "stack scores" }, el("h2", { text: "Influence scores" }),
    el("div", { class: "columns" }, el("div", { class: "panel" }, builtin, chooser.element, label, el("div", { class: "row" }, go), line), el("div", { class: "stack" }, pictures.element, pictures.caption, classes, el("div", { class: "row" }, save), code)));
  return { element, begin: () => go.click() };
}
