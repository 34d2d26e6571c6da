// Room 4: the wide network learns, record by record.
import { number, write } from "../address.js";
import { latest, post } from "../api.js";
import { recipe, slider } from "../controls.js";
import { el, factTable, head, short } from "../dom.js";
import { example, follow, jobLine, result, start } from "../jobs.js";
import { Plot } from "../plots.js";

const SLIDERS = { width: ["Width m", 50, 4000, true, 1000], classes: ["Classes k", 2, 20, false, 10], components: ["Components per class l", 1, 8, false, 2], dimension: ["Dimension d", 10, 1000, true, 500], spread: ["Spread of a component", 0, 5, false, 1], steps: ["SGD steps", 40, 2000, true, 200], rate_times_width: ["Learning rate times m", .5, 100, true, 10], seed: ["Seed", 0, 50, false, 0] };
const PANELS = [["accuracy", "Test accuracy", "accuracy"], ["pattern_change", "Activation patterns changed", "fraction of (unit, example) pairs"], ["distance", "Distance from initialisation", "|W − W₀| / |W₀|"]];

export function mount(place, { values }) {
  const state = Object.fromEntries(Object.entries(SLIDERS).map(([name, [, min, max, , usual]]) => [name, number(values, name, usual, min, max)]));
  const plots = Object.fromEntries([...PANELS.map(([name]) => name), "spectrum"].map(name => [name, new Plot({ name: `width-${name}` })]));
  const line = jobLine({ pausable: true }), facts = el("div"), code = recipe();
  let curves = null, spectrum = null, weights = null, stop = null, frame = null;
  const panel = (title, x, y, traces, extra = {}) => ({ data: traces, layout: { title: { text: title, font: { size: 15 } }, xaxis: { title: { text: x }, automargin: true }, yaxis: { title: { text: y }, automargin: true, ...extra }, margin: { l: 64, r: 24, t: 48, b: 56 }, showlegend: traces.length > 1, legend: { orientation: "h", y: -.3, yanchor: "top" }, hovermode: "closest" } });
  function draw() {
    frame = null;
    for (const [name, title, axis] of PANELS) plots[name].show(panel(title, "SGD step", axis, [{ type: "scatter", mode: "lines+markers", name: axis, x: [...curves.steps], y: [...curves[name]], line: { color: "#0072b2", width: 2 }, marker: { size: 4 } }], name === "accuracy" ? { range: [0, 1.02] } : { rangemode: "tozero" }));
    const traces = [];
    if (spectrum) traces.push({ type: "scatter", mode: "lines+markers", name: "update", x: spectrum.map((_, i) => i + 1), y: spectrum, line: { color: "#d55e00", width: 2 }, marker: { size: 4 } });
    if (weights) traces.push({ type: "scatter", mode: "lines", name: "weights", x: weights.map((_, i) => i + 1), y: weights, line: { color: "#0072b2", dash: "dash" } });
    const drawn = panel("Singular values", "index", "singular value", traces, { type: "log", dtick: 1 });
    const pairs = state.classes * state.components + .5;
    drawn.layout.shapes = [{ type: "line", x0: pairs, x1: pairs, yref: "paper", y0: 0, y1: 1, line: { color: "#777777", dash: "dot", width: 1.3 } }];
    drawn.layout.annotations = [{ x: pairs, yref: "paper", y: 1, text: "k·l", showarrow: false, xanchor: "left", yanchor: "top", font: { size: 11, color: "#777777" } }];
    plots.spectrum.show(drawn);
  }
  const soon = () => { frame ??= requestAnimationFrame(draw); };
  const recipes = latest((body, signal) => post("/api/width/recipe", body, signal), { show: code.show, fail: () => {} });
  function changed() { write("width", state); recipes(state); }
  const go = el("button", { class: "primary", type: "button", text: "Run", on: { click: async () => {
    go.disabled = true;
    curves = { steps: [], accuracy: [], loss: [], pattern_change: [], distance: [] }; spectrum = weights = null;
    facts.replaceChildren();
    try {
      const job = await start("/api/width/run", state);
      line.show(job);
      stop = follow(job.id, { status: line.show, data: record => {
        for (const name of Object.keys(curves)) curves[name].push(record[name]);
        if (record.update_values) spectrum = record.update_values;
        soon();
      }, end: async last => {
        go.disabled = false;
        if (last.state !== "done") return;
        const found = await result(job.id);
        spectrum = found.update_values; weights = found.weight_values;
        soon();
        facts.replaceChildren(el("h2", { text: "At the end" }), factTable([["test accuracy", short(found.accuracy.at(-1))], ["test loss", short(found.loss.at(-1))], ["patterns changed", short(found.pattern_change.at(-1))], ["distance from initialisation", short(found.distance.at(-1))], ["largest gap of the update's spectrum", `after ${found.update_gap_at}, a factor of ${short(found.update_gap)}; k·l = ${state.classes * state.components}`], ["effective rank", `update ${short(found.update_entropy_rank)}, weights ${short(found.weight_entropy_rank)}`]]));
      } });
    } catch (error) { line.fail(error.message); go.disabled = false; }
  } } });
  const controls = el("section", { class: "panel", "aria-label": "Settings" }, Object.entries(SLIDERS).map(([name, [label, min, max, log]]) =>
    slider({ label, min, max, log, step: name === "spread" ? .1 : name === "rate_times_width" ? "any" : 1, value: state[name], onInput: value => { state[name] = name === "spread" || name === "rate_times_width" ? value : Math.round(value); changed(); } })),
    el("div", { class: "row" }, go), line);
  place.append(head("Width", "A wide two-layer ReLU network on classes made of components. Accuracy rises while few activation patterns change, the weights stay near their initial values, and the update has as many large singular values as there are components."),
    el("div", { class: "columns" }, controls, el("div", { class: "stack" }, el("div", { class: "grid" }, Object.values(plots).map(plot => plot.element)), facts, code)));
  curves = { steps: [], accuracy: [], loss: [], pattern_change: [], distance: [] };
  draw();
  changed();
  example(values, () => go.click());
  return () => { stop?.(); if (frame) cancelAnimationFrame(frame); Object.values(plots).forEach(plot => plot.remove()); recipes.cancel(); };
}
