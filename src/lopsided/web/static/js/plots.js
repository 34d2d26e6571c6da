// Panels from the server, drawn by plotly.js, which is loaded when the first one is shown. Each downloads as PNG and data.
import { colour, csv, download, el } from "./dom.js";

// plotly.js writes style attributes as text, which the page's policy forbids; through the object model it is allowed.
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  name === "style" && this.style ? (this.style.cssText = value) : setAttribute.call(this, name, value);
};

// Reading the library takes longer than all else on the page, so the first words are painted before it is run.
const painted = () => Promise.race([new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))), new Promise(resolve => setTimeout(resolve, 200))]);

let library = null;
function load() {
  library ??= painted().then(() => new Promise((resolve, reject) => {
    const script = el("script", { src: "/static/plotly.js" });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => { library = null; reject(new Error("plotly.js could not be loaded")); });
    document.head.append(script);
  }));
  return library;
}

// The server escapes the few tags that plotly.js would read.
const plain = text => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

// The colours of figures are made for paper; on dark ground three of them are lifted.
const LIFTED = { "#0072b2": "--c0", "#d55e00": "--c1", "#009e73": "--c2" };
const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark";
function lifted(value) {
  if (typeof value === "string") return LIFTED[value] ? colour(LIFTED[value]) : value;
  return value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, lifted(inner)])) : value;
}
const drawn = panel => (dark() ? panel.data.map(trace => ({ ...trace, ...Object.fromEntries(["line", "marker", "error_y"].filter(name => trace[name]).map(name => [name, lifted(trace[name])])) })) : panel.data);

// Regions have a key below the picture in place of a scale; on a narrow page a scale lies below it too.
const NARROW = 480;
const regions = trace => trace.colorbar?.ticktext;
function fitted(traces, width) {
  return traces.map(trace => {
    if (regions(trace)) return { ...trace, showscale: false };
    return trace.colorbar && width < NARROW ? { ...trace, colorbar: { ...trace.colorbar, orientation: "h", x: .5, y: -.28, yanchor: "top", thickness: 14, tickfont: { size: 10 } } } : trace;
  });
}
function keys(panel) {
  return panel.data.filter(regions).flatMap(trace => trace.colorbar.ticktext.map((words, k) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = trace.colorscale[2 * k][1];
    return el("span", { class: "key" }, swatch, plain(words));
  }));
}

function themed(panel) {
  const ink = colour("--ink"), line = colour("--line"), card = colour("--card"), soft = colour("--soft");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
  return { ...panel.layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 12 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
    annotations: (panel.layout.annotations ?? []).map(note => ({ ...note, bgcolor: card + "b3", font: { ...note.font, color: soft } })),
    xaxis: { ...ticked(panel, "x"), ...axis }, yaxis: { ...ticked(panel, "y"), ...axis } };
}

// Logarithmic axes: 1, 2, 5 where the data span little, one tick a decade, or as many as fit.
function ticked(panel, letter) {
  const axis = { exponentformat: "power", ...panel.layout[`${letter}axis`] };
  if (axis.type !== "log") return axis;
  const values = panel.data.flatMap(trace => trace[letter] ?? []).filter(value => value > 0);
  const decades = values.length ? Math.log10(Math.max(...values) / Math.min(...values)) : 2;
  return { ...axis, dtick: decades < 1.6 ? "D2" : decades < 6 ? 1 : undefined };
}

const shown = new Set();
export class Plot {
  constructor({ name = "plot", tall = false, onClick = null } = {}) {
    this.name = name;
    this.onClick = onClick;
    this.place = el("div", { class: tall ? "plot tall" : "plot", role: "img" });
    this.title = el("h2");
    const button = (text, act) => el("button", { class: "small", type: "button", on: { click: act }, title: `Download as ${text}`, text });
    this.keys = el("div");
    this.tools = el("div", { class: "plot-tools", hidden: true }, button("PNG", () => this.png()), button("CSV", () => this.csv()), button("JSON", () => this.json()));
    this.element = el("figure", { class: "panel" }, this.title, this.place, this.keys, this.tools);
    this.element.style.margin = "0";
  }
  async show(panel) {
    this.panel = panel;
    const plotly = await load();
    if (this.panel !== panel || this.gone) return;
    shown.add(this);
    const layout = themed(panel), words = plain(panel.layout.title?.text ?? "");
    this.title.textContent = words;
    await plotly.react(this.place, fitted(drawn(panel), this.place.clientWidth), { ...layout, title: undefined, margin: { ...layout.margin, t: 16 } }, { responsive: true, displaylogo: false, displayModeBar: false });
    this.place.setAttribute("aria-label", `${words}: ${plain(panel.layout.yaxis?.title?.text ?? "")} against ${plain(panel.layout.xaxis?.title?.text ?? "")}`);
    this.keys.replaceChildren(...keys(panel));
    this.tools.hidden = false;
    if (this.onClick && !this.listens) { this.listens = true; this.place.on("plotly_click", event => this.onClick(event.points[0])); }
  }
  remove() { this.gone = true; shown.delete(this); window.Plotly?.purge(this.place); }
  async png() {
    const plotly = await load();
    const layout = { ...themed(this.panel), paper_bgcolor: colour("--paper"), plot_bgcolor: colour("--paper") };
    const address = await plotly.toImage({ data: drawn(this.panel), layout }, { format: "png", width: 900, height: 600, scale: 2 });
    const bytes = Uint8Array.from(atob(address.split(",")[1]), letter => letter.charCodeAt(0));
    download(`${this.name}.png`, new Blob([bytes], { type: "image/png" }));
  }
  csv() { download(`${this.name}.csv`, csv(traceRows(this.panel)), "text/csv"); }
  json() { download(`${this.name}.json`, JSON.stringify(this.panel), "application/json"); }
}

function traceRows(panel) {
  const axis = name => panel.layout[name]?.title?.text ?? name;
  const rows = [["series", axis("xaxis"), axis("yaxis"), "value", "low", "high"]];
  for (const trace of panel.data) {
    const name = trace.name ?? trace.colorbar?.title?.text ?? trace.type;
    if (trace.z) trace.z.forEach((line, i) => line.forEach((value, j) => rows.push([name, trace.x[j], trace.y[i], value, "", ""])));
    else if (trace.x) trace.x.forEach((x, i) => {
      const y = trace.y[i], bar = trace.error_y;
      rows.push([name, x, y, "", bar && y !== null ? y - bar.arrayminus[i] : "", bar && y !== null ? y + bar.array[i] : ""]);
    });
  }
  return rows;
}

// A row of plots that follows a drawing of the server.
export class Drawing {
  constructor(name, options = {}) { this.name = name; this.options = options; this.plots = []; this.element = el("div", { class: "grid" }); this.caption = el("p", { class: "soft caption" }); }
  show(drawing) {
    const panels = drawing?.panels ?? [];
    while (this.plots.length > panels.length) { const plot = this.plots.pop(); plot.remove(); plot.element.remove(); }
    while (this.plots.length < panels.length) {
      const plot = new Plot({ ...this.options, name: `${this.name}-${this.plots.length + 1}` });
      this.plots.push(plot);
      this.element.append(plot.element);
    }
    this.caption.textContent = drawing?.caption ?? "";
    return Promise.all(panels.map((panel, index) => this.plots[index].show(panel)));
  }
  remove() { this.plots.forEach(plot => plot.remove()); }
}

export function redraw() { for (const plot of shown) plot.show(plot.panel); }
