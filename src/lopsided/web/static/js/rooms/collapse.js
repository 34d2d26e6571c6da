// Room 1: the class histogram in the hand, the forecast beside it.
import { number, write } from "../address.js";
import { latest, post } from "../api.js";
import { choice, recipe, slider, statusLine } from "../controls.js";
import { el, factTable, head, short } from "../dom.js";
import { Histogram } from "../histogram.js";
import { Drawing } from "../plots.js";
import { Vectors } from "../vectors.js";

const FORMS = {
  energies: { words: "Energies E_H and E_W", fields: { feature_energy: ["Feature energy E_H", .05, 100, 5], weight_energy: ["Weight energy E_W", .01, 100, 1] } },
  decay: { words: "Weight decay", fields: { weight_decay: ["Weight decay", 1e-6, 1, 5e-3], feature_decay: ["Feature decay", 1e-6, 1, 5e-3] } },
  tau: { words: "τ = K √(E_H E_W)", fields: { tau: ["τ", .5, 500, 22.36] } },
  multiplier: { words: "Multiplier", fields: { multiplier: ["Multiplier", 1e-6, 1, 5e-3] } },
};
const PRESETS = { "Two sizes": "5000*5,50*5", "Long tail": "5000,2997,1796,1077,645,387,232,139,83,50", "Equal": "500*10", "Hundred classes": Array.from({ length: 100 }, (_, k) => Math.round(500 * .01 ** (k / 99))).join(",") };

function parse(text) {
  const counts = [];
  for (const term of text.split(",")) {
    const found = /^\s*([\d.eE+]+)\s*(?:\*\s*(\d{1,6})\s*)?$/.exec(term);
    if (!found || !(Number(found[1]) > 0) || counts.length > 1000) return null;
    for (let i = 0; i < Number(found[2] ?? 1) && counts.length <= 1000; i++) counts.push(Number(found[1]));
  }
  return counts.length >= 2 && counts.length <= 1000 ? counts : null;
}

function compact(counts) {
  const runs = [];
  for (const count of counts) runs.at(-1)?.[0] === count ? runs.at(-1)[1]++ : runs.push([count, 1]);
  return runs.map(([count, times]) => (times > 1 ? `${count}*${times}` : String(count))).join(",");
}

const page = Array.from(crypto.getRandomValues(new Uint8Array(8)), byte => byte.toString(16).padStart(2, "0")).join("");

export function mount(place, { values }) {
  const state = { counts: parse(values.get("counts") ?? "") ?? parse(PRESETS["Two sizes"]), form: values.get("form") in FORMS ? values.get("form") : "energies", features: values.get("features") === "relu" ? "relu" : "free", held: {} };
  for (const form of Object.values(FORMS)) for (const [name, [, low, high, usual]] of Object.entries(form.fields)) state.held[name] = number(values, name, usual, low, high);
  const problem = () => ({ counts: compact(state.counts), features: state.features, ...Object.fromEntries(Object.keys(FORMS[state.form].fields).map(name => [name, state.held[name]])) });

  const histogram = new Histogram({ onChange: counts => { state.counts = counts; box.value = compact(counts); ask(true); } });
  const vectors = new Vectors(), angles = new Drawing("angles"), curve = new Drawing("collapse-curve"), code = recipe();
  const verdict = el("p", { class: "verdict", "aria-live": "polite" }), remedy = statusLine(() => { cure.cancel(); remedy.say("Oversampling: cancelled."); }), facts = el("div", { class: "panel facts-box" });
  remedy.classList.add("remedy");
  const status = statusLine(() => { forecast.cancel(); cure.cancel(); curves.cancel(); status.say("cancelled"); });

  const forecast = latest((body, signal) => post("/api/collapse/forecast", body, signal), {
    show: (found, took) => {
      verdict.textContent = found.verdict;
      verdict.className = `verdict ${found.facts.collapsed.length ? "bad" : "good"}`;
      const collapsed = found.classes.map(row => row.collapsed);
      if (!collapsed.includes(true)) histogram.cure(null);
      histogram.judge(collapsed, found.facts.count_needed);
      vectors.show(found.classes[0]?.vector ? found.classes.map(row => row.vector) : [], collapsed);
      found.angles ? angles.show(found.angles) : angles.show(null);
      facts.replaceChildren(el("h2", { text: "Forecast" }), factTable(found.summary));
      code.show(found.recipe);
      status.say(`answered in ${took.toFixed(0)} ms${found.draft ? ` (draft, to a gap of ${found.facts.relative_gap.toExponential(0)})` : ""}`);
      cure({ ...shown, page }); // after the forecast, so that it never holds it up
      clearTimeout(later);
      later = setTimeout(() => (found.draft ? forecast({ ...shown, page }) : curves(shown)), 300);
    },
    fail: sentence => status.say(sentence, true),
    busy: now => status.busy(now, "solving …"),
  });
  const cure = latest((body, signal) => post("/api/collapse/cure", body, signal), {
    show: found => {
      histogram.cure(found.rates);
      code.show(found.recipe); // with the plan, whose numbers are shown now
      const repeated = found.rates.filter(rate => rate > 1.0005);
      remedy.say(!found.possible ? `Oversampling cannot help: ${found.why_not}.`
        : repeated.length ? `To prevent it, oversample ${repeated.length} classes up to ${short(Math.max(...repeated))} times (${short(found.added_total)} more examples in all); then ${found.collapsed_after.length ? `${found.collapsed_after.length} still collapse` : "none collapses"}.`
        : "No oversampling is needed.");
    },
    fail: sentence => remedy.say(sentence, true),
    busy: now => remedy.busy(now, "Oversampling: computing …"),
  });
  const curves = latest((body, signal) => post("/api/collapse/curve", body, signal), { show: found => curve.show(found), fail: () => {} });

  let later = null, shown = null;
  // A draft starts from the last forecast and is certified to 1e-6; 300 ms after its answer the full forecast follows.
  function ask(draft = false) {
    shown = problem();
    write("collapse", { ...shown, form: state.form === "energies" ? null : state.form, features: state.features === "free" ? null : state.features });
    forecast({ ...shown, page, draft });
    clearTimeout(later);
  }

  const box = el("textarea", { spellcheck: false, "aria-label": "Counts", text: compact(state.counts), on: { input: () => {
    const counts = parse(box.value.trim().replace(/[\s;]+/g, ",").replace(/,+/g, ",").replace(/^,|,$/g, ""));
    if (!counts) return status.say("Expected counts of 2 to 1000 classes, such as 5000*5,50*5.", true);
    use(counts, false);
  } } });
  function use(counts, write = true) { state.counts = counts; if (write) box.value = compact(counts); histogram.set(counts); ask(); }
  const held = el("div");
  function showHeld() {
    held.replaceChildren(...Object.entries(FORMS[state.form].fields).map(([name, [label, min, max]]) =>
      slider({ label, min, max, log: true, value: state.held[name], onInput: value => { state.held[name] = value; ask(true); } })));
  }
  const controls = el("section", { class: "panel", "aria-label": "Settings" },
    el("label", { class: "field" }, el("span", { text: "Examples per class (paste, or drag the bars)" }), box),
    el("div", { class: "row" }, Object.entries(PRESETS).map(([name, counts]) => el("button", { class: "small", type: "button", text: name, on: { click: () => use(parse(counts)) } })),
      el("button", { class: "small", type: "button", text: "+ class", on: { click: () => state.counts.length < 1000 && use([...state.counts, state.counts.at(-1)]) } }),
      el("button", { class: "small", type: "button", text: "− class", on: { click: () => state.counts.length > 2 && use(state.counts.slice(0, -1)) } })),
    choice({ label: "Regularisation", options: Object.entries(FORMS).map(([name, { words }]) => [name, words]), value: state.form, onChange: form => { state.form = form; showHeld(); ask(); } }),
    held,
    choice({ label: "Features", options: [["free", "free (the paper)"], ["relu", "ReLU (nonnegative)"]], value: state.features, onChange: features => { state.features = features; ask(); } }));
  showHeld();
  place.append(head("Collapse", "Which classes will a network fail to distinguish? Class counts are enough to say. Drag the bars and watch the smallest classes collapse."),
    el("div", { class: "columns" }, controls, el("div", { class: "stack" }, el("div", {}, verdict, remedy, status), histogram.element,
      el("div", { class: "grid" }, vectors.element, angles.element), curve.element, facts, code)));
  histogram.set(state.counts);
  ask();
  return () => { clearTimeout(later); forecast.cancel(); cure.cancel(); curves.cancel(); histogram.remove(); vectors.remove(); angles.remove(); curve.remove(); };
}
