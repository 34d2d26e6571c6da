// Panels from the server, drawn by plotly.js, which is loaded when the first one is shown. Each downloads as PNG and data.
import { colour, csv, download, el } from "./dom.js";

// plotly.js writes style attributes as text, which the page's policy forbids; through the object model it is allowed.
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  name === "style" && this.style ? (this.style.cssText = value) : setAttribute.call(this, name, value);
};

let library = null;
function load() {
  library ??= new Promise((resolve, reject) => {
    const script = el("script", { src: "/static/plotly.js" });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => reject(new Error("plotly.js could not be loaded")));
    document.head.append(script);
  });
  return library;
}
export const preload = () => void load();

function themed(panel) {
  const ink = colour("--ink"), line = colour("--line"), card = colour("--card");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
  return { ...panel.layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 12 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
    annotations: (panel.layout.annotations ?? []).map(note => ({ ...note, bgcolor: card + "b3" })),
    xaxis: { ...panel.layout.xaxis, ...axis }, yaxis: { ...panel.layout.yaxis, ...axis } };
}

const shown = new Set();
export class Plot {
  constructor({ name = "plot", tall = false, onClick = null } = {}) {
    this.name = name;
    this.onClick = onClick;
    this.place = el("div", { class: tall ? "plot tall" : "plot", role: "img" });
    const button = (text, act) => el("button", { class: "small", type: "button", on: { click: act }, title: `Download as ${text}`, text });
    this.tools = el("div", { class: "plot-tools", hidden: true }, button("PNG", () => this.png()), button("CSV", () => this.csv()), button("JSON", () => this.json()));
    this.element = el("figure", { class: "panel" }, this.place, this.tools);
    this.element.style.margin = "0";
  }
  async show(panel) {
    this.panel = panel;
    const plotly = await load();
    if (this.panel !== panel || this.gone) return;
    shown.add(this);
    await plotly.react(this.place, panel.data, themed(panel), { responsive: true, displaylogo: false, displayModeBar: false });
    this.place.setAttribute("aria-label", `${panel.layout.title?.text ?? ""}: ${panel.layout.yaxis?.title?.text ?? ""} against ${panel.layout.xaxis?.title?.text ?? ""}`);
    this.tools.hidden = false;
    if (this.onClick && !this.listens) { this.listens = true; this.place.on("plotly_click", event => this.onClick(event.points[0])); }
  }
  remove() { this.gone = true; shown.delete(this); window.Plotly?.purge(this.place); }
  async png() {
    const plotly = await load();
    const layout = { ...themed(this.panel), paper_bgcolor: colour("--paper"), plot_bgcolor: colour("--paper") };
    const address = await plotly.toImage({ data: this.panel.data, layout }, { format: "png", width: 900, height: 600, scale: 2 });
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
  constructor(name, options = {}) { this.name = name; this.options = options; this.plots = []; this.element = el("div", { class: "grid" }); this.caption = el("p", { class: "soft" }); }
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
