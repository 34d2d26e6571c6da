// Room 6: the register of claims with verdicts; one claim with its picture; rerun at quick scale.
import { write } from "../address.js";
import { get } from "../api.js";
import { choice, recipe } from "../controls.js";
import { el, factTable, head, short, table } from "../dom.js";
import { follow, jobLine, start } from "../jobs.js";
import { Drawing } from "../plots.js";

const chip = verdict => el("span", { class: `chip ${verdict.replaceAll(" ", "-")}`, text: verdict });

const same = claim => `${claim.seed_sets.same} of ${claim.seed_sets.of} seed sets`;
const origin = claim => `${claim.scale} scale, ${claim.seeds} seeds, ${claim.time.slice(0, 10)}, ${claim.own ? "your run" : `ships with lopsided ${claim.lopsided}`}`;

export function mount(place, { rest, values }) {
  const stops = [];
  rest[0] ? onePage(place, rest[0], stops) : register(place, values, stops);
  return () => stops.forEach(stop => stop());
}

async function register(place, values, stops) {
  const list = el("div", { class: "stack" });
  let paper = values.get("paper") ?? "", verdict = values.get("verdict") ?? "", all = null;
  const bar = el("div", { class: "row" });
  place.append(head("Claims", "What the papers claim, and whether it holds. A rule gives each verdict; open a claim to see the rule and the measurements, or to run it again."), bar, list);
  const draw = () => {
    write("claims", { paper, verdict });
    const chosen = all.claims.filter(claim => (!paper || claim.paper === paper) && (!verdict || claim.verdict === verdict));
    list.replaceChildren(...Object.entries(all.papers).map(([id, title]) => {
      const own = chosen.filter(claim => claim.paper === id);
      return own.length ? el("section", { class: "panel" }, el("h2", { text: `${id.toUpperCase()} · ${title}` }), el("ul", { class: "claims" }, own.map(claim =>
        el("li", {}, el("div", {}, chip(claim.verdict), claim.seed_sets ? el("p", { class: "soft", text: same(claim) }) : ""), el("div", {}, el("p", {}, el("a", { href: `#/claims/${encodeURIComponent(claim.id)}`, text: claim.id }), " ", el("span", { class: "soft", text: claim.place })), el("p", { text: claim.statement }), el("p", { class: "found", text: claim.found })))))) : null;
    }).filter(Boolean));
  };
  try { all = await get("/api/claims"); } catch (error) { return list.append(el("p", { class: "error", text: error.message })); }
  const verdicts = [...new Set(all.claims.map(claim => claim.verdict))];
  bar.append(choice({ label: "Paper", options: [["", "all"], ...Object.keys(all.papers).map(id => [id, id.toUpperCase()])], value: paper, onChange: value => { paper = value; draw(); } }),
    choice({ label: "Verdict", options: [["", "all"], ...verdicts.map(word => [word, `${word} (${all.claims.filter(claim => claim.verdict === word).length})`])], value: verdict, onChange: value => { verdict = value; draw(); } }));
  draw();
}

function flat(numbers, prefix = "") {
  return Object.entries(numbers).flatMap(([name, value]) => {
    const words = prefix + name.replace(/(?<=[a-z])_(?=[a-z])/g, " ");
    if (value && typeof value === "object" && !Array.isArray(value)) return flat(value, `${words}: `);
    return [[words, typeof value === "number" ? short(value, 5) : Array.isArray(value) ? value.map(entry => (typeof entry === "number" ? short(entry) : typeof entry === "object" ? JSON.stringify(entry) : entry)).join(", ").slice(0, 300) : String(value ?? "–")]];
  });
}

async function onePage(place, id, stops) {
  const figure = new Drawing(id), code = recipe(), line = jobLine(), body = el("div", { class: "stack" });
  stops.push(() => figure.remove());
  place.append(el("p", {}, el("a", { href: "#/claims", text: "← All claims" })), body);
  async function show() {
    let page;
    try { page = await get(`/api/claims/${encodeURIComponent(id)}`); } catch (error) { return body.replaceChildren(el("p", { class: "error", text: error.message })); }
    const { line: claim } = page;
    const rerun = el("button", { class: "primary", type: "button", text: page.budget_seconds ? `Run it again (about ${short(page.budget_seconds)} s)` : "Run it again", disabled: !page.can_run, on: { click: async () => {
      rerun.disabled = true;
      try {
        const job = await start(`/api/claims/${encodeURIComponent(id)}/rerun`);
        line.show(job);
        stops.push(follow(job.id, { status: line.show, end: last => (last.state === "done" ? show() : (rerun.disabled = false)) }));
      } catch (error) { line.fail(error.message); rerun.disabled = false; }
    } } });
    const section = (title, words) => (words ? el("section", { class: "panel" }, el("h2", { text: title }), el("p", { text: words })) : null);
    body.replaceChildren(...[
      el("header", { class: "room-head" }, el("h1", {}, `${claim.id} `, chip(claim.verdict)), el("p", { text: claim.statement }), el("p", { class: "soft", text: `${page.paper}, ${claim.place}` }), claim.seed_sets ? el("p", { class: "soft", text: `The same verdict in ${same(claim)}. ${page.apart}` }) : ""),
      el("div", { class: "row" }, rerun), line,
      el("div", { class: "grid" }, ...[section("What the paper says", page.paper_says), section(claim.verdict === "not run" ? "Why there is no verdict" : `What we found${claim.time ? ` (${origin(claim)})` : ""}`, claim.found)].filter(Boolean)),
      page.figure ? figure.element : null, page.figure ? figure.caption : null,
      section("The rule", page.rule + (page.revised ? ` Changed after looking at results: ${page.revised}` : "")),
      page.parts.length ? el("section", { class: "panel" }, el("h2", { text: "Part by part" }), table(["part", "verdict", "smallest effect"], page.parts)) : null,
      page.sets.length > 1 ? el("details", { class: "panel" }, el("summary", { text: "Seed set by seed set" }), table(["seeds", "for", "verdict"], page.sets)) : null,
      Object.keys(page.numbers).length ? el("details", { class: "panel" }, el("summary", { text: "The numbers behind the verdict" }), el("div", { class: "scroll" }, factTable(flat(page.numbers)))) : null,
      Object.keys(page.readings).length ? el("details", { class: "panel" }, el("summary", { text: "Readings of the text" }), factTable(Object.entries(page.readings))) : null,
      code].filter(Boolean));
    code.show(page.recipe);
    if (page.figure) figure.show(page.figure);
  }
  await show();
}
