// Room 2: groups in the plane, what samples teach about each, and simulation on top.
import { number, write } from "../address.js";
import { latest, post } from "../api.js";
import { choice, recipe, slider, statusLine } from "../controls.js";
import { el, head, short, table } from "../dom.js";
import { follow, jobLine, result as jobResult, start } from "../jobs.js";
import { Drawing } from "../plots.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73"];
const USUAL = [[.7, 0, 0, 1, 1, 0], [.2, 2, 1, 1.7, .8, .3], [.1, -2, 1.5, .7, 1.4, 0]];
const SLIDERS = [["Share", .01, 1, .01], ["Mean x", -5, 5, .05], ["Mean y", -5, 5, .05], ["Deviation x", .2, 4, .05], ["Deviation y", .2, 4, .05], ["Correlation", -.95, .95, .05]];

export function mount(place, { values }) {
  const state = { groups: [], samples: Math.round(number(values, "n", 3000, 100, 1e6)), swept: number(values, "swept", 1, 0, 2), seed: Math.round(number(values, "seed", 0, 0, 1e6)),
    turn: number(values, "turn", 90, 5, 175), strength: number(values, "strength", 1.5, .2, 5) };
  const many = number(values, "groups", 2, 2, 3) >= 3 ? 3 : 2;
  for (let g = 0; g < many; g++) {
    const given = (values.get(`g${g}`) ?? "").split(",").map(Number);
    state.groups.push(given.length === 6 && given.every(Number.isFinite) ? given.map((value, i) => Math.min(SLIDERS[i][2], Math.max(SLIDERS[i][1], value))) : [...USUAL[g]]);
  }
  const plane = new Drawing("groups", { tall: true }), sweep = new Drawing("fraction-sweep"), code = recipe(), result = el("div", { class: "panel" });
  const status = statusLine(() => { forecast.cancel(); status.say("cancelled"); });
  let sweepDrawing = null, simulated = [];
  // Columns are neurons: the first along x, the second turned from it.
  const teacher = () => { const angle = state.turn * Math.PI / 180, tidy = value => Number((state.strength * value).toFixed(6)); return [[tidy(1), tidy(Math.cos(angle))], [0, tidy(Math.sin(angle))]]; };
  const problem = () => ({ groups: state.groups.map(([share, x, y, sx, sy, r]) => ({ share, mean: [x, y], deviations: [sx, sy], correlation: r })), teacher: teacher(), samples: state.samples, swept: Math.min(state.swept, state.groups.length - 1), seed: state.seed });

  const forecast = latest((body, signal) => post("/api/groups/forecast", body, signal), {
    show: (found, took) => {
      plane.show(found.plane);
      sweepDrawing = found.sweep;
      overlay();
      code.show(found.recipe);
      const facts = found.facts;
      result.replaceChildren(el("h2", { text: `Forecast for n = ${facts.samples.toLocaleString("en")}` }),
        table(["group", "fraction", "label entropy", "excess risk", "more of it", "hurts beyond"], facts.groups.map((group, g) =>
          [`group ${g}`, group.fraction, group.label_entropy, group.excess_risk, `${group.fraction_effect} (${group.fraction_elasticity >= 0 ? "+" : ""}${group.fraction_elasticity.toFixed(2)})`, group.fraction_crossing === null ? "–" : short(group.fraction_crossing)])),
        el("p", { class: "soft", text: `Average excess risk: ${short(facts.average_excess_risk)} nats, the same for every mixture. ${facts.law_reliable ? "n is large enough for this forecast." : `n is small for this forecast, which implies a weight error of ${(100 * facts.relative_weight_error).toFixed(0)} %.`}` }),
        found.skill ? el("p", { class: "soft", text: found.skill }) : "");
      status.say(`answered in ${took.toFixed(0)} ms`);
    },
    fail: sentence => status.say(sentence, true), busy: now => status.busy(now),
  });
  function overlay() {
    if (!sweepDrawing) return;
    const drawing = structuredClone(sweepDrawing);
    for (let g = 0; simulated.length && g < state.groups.length; g++) {
      const rows = simulated.filter(row => row.mean);
      drawing.panels[0].data.push({ type: "scatter", mode: "markers", name: `group ${g}, simulated`, x: rows.map(row => row.fraction), y: rows.map(row => row.mean[g]), marker: { color: COLOURS[g], size: 8 },
        error_y: { type: "data", symmetric: false, array: rows.map(row => 2 * row.error[g]), arrayminus: rows.map(row => Math.min(2 * row.error[g], .9 * row.mean[g])), color: COLOURS[g], thickness: 1 } });
    }
    sweep.show(drawing);
  }
  function ask() {
    simulated = []; agreement.textContent = "";
    write("groups", { groups: state.groups.length, ...Object.fromEntries(state.groups.map((group, g) => [`g${g}`, group.join(",")])), n: state.samples, swept: state.swept, seed: state.seed || null, turn: state.turn, strength: state.strength });
    forecast(problem());
  }
  const line = jobLine(), agreement = el("p", { class: "soft agreement", role: "status" });
  let stop = null;
  const simulate = el("button", { class: "primary", type: "button", text: "Simulate and overlay", on: { click: async () => {
    simulate.disabled = true;
    simulated = []; agreement.textContent = ""; overlay();
    const of = JSON.stringify(problem()), still = () => JSON.stringify(problem()) === of;
    try {
      const job = await start("/api/groups/simulate", problem());
      line.show(job);
      stop = follow(job.id, { status: line.show, data: row => { if (still()) { simulated = [...simulated, row]; overlay(); } }, end: async last => {
        simulate.disabled = false;
        if (last.state === "done" && still()) agreement.textContent = (await jobResult(job.id)).words;
      } });
    } catch (error) { line.fail(error.message); simulate.disabled = false; }
  } } });

  const sets = el("div");
  function showGroups() {
    sets.replaceChildren(...state.groups.map((group, g) => {
      const title = el("summary", { text: `Group ${g}` }); title.style.color = `var(--c${g})`;
      return el("details", { class: "group", open: matchMedia("(min-width: 60rem)").matches }, title, SLIDERS.map(([label, min, max, step], i) => slider({ label, min, max, step, value: group[i], onInput: value => { group[i] = value; ask(); } })));
    }));
    swept.select.replaceChildren(...state.groups.map((_, g) => el("option", { value: String(g), text: `group ${g}` })));
    swept.set(String(Math.min(state.swept, state.groups.length - 1)));
  }
  const swept = choice({ label: "Fraction to vary", options: [], value: "", onChange: value => { state.swept = Number(value); ask(); } });
  const controls = el("section", { class: "panel", "aria-label": "Settings" },
    choice({ label: "Groups", options: [["2", "two"], ["3", "three"]], value: String(state.groups.length), onChange: value => { state.groups = state.groups.slice(0, Number(value)); while (state.groups.length < Number(value)) state.groups.push([...USUAL[state.groups.length]]); showGroups(); ask(); } }),
    slider({ label: "Training samples n", min: 100, max: 1e6, log: true, step: 1, value: state.samples, onInput: value => { state.samples = Math.round(value); ask(); } }),
    swept, sets,
    el("fieldset", {}, el("legend", { text: "Teacher: two neurons" }),
      slider({ label: "Strength", min: .2, max: 5, step: .1, value: state.strength, onInput: value => { state.strength = value; ask(); } }),
      slider({ label: "Angle between them (degrees)", min: 5, max: 175, step: 1, value: state.turn, onInput: value => { state.turn = value; ask(); } })));
  showGroups();
  place.append(head("Groups", "Does more data of a group help that group? One network learns all groups of a Gaussian mixture. The curves forecast the excess risk and the label entropy of each group; a simulation trains networks to compare."),
    el("div", { class: "columns" }, controls, el("div", { class: "stack" }, status, result, el("div", { class: "grid" }, plane.element, el("section", { class: "panel" }, el("h2", { text: "Simulation" }), el("p", { class: "soft", text: "Trains networks on fresh samples at several fractions and draws the mean risk of each group over the forecast below. Bars are two standard errors." }), el("div", { class: "row" }, simulate), line, agreement)), plane.caption, sweep.element, sweep.caption, code)));
  ask();
  return () => { forecast.cancel(); stop?.(); plane.remove(); sweep.remove(); };
}
