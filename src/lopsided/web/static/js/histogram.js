// The class histogram on a logarithmic axis: bars are dragged, or moved with the arrow keys; many classes at a time.
import { download, el, short, svg } from "./dom.js";

const TOP = 16, BOTTOM = 26, LEFT = 46, RIGHT = 8, LOWEST = 1, HIGHEST = 1e7;

export class Histogram {
  constructor({ onChange }) {
    this.onChange = onChange;
    this.counts = []; this.collapsed = []; this.needed = null; this.rates = null;
    this.root = svg("svg", { class: "histogram", role: "group", "aria-label": "Examples per class; drag a bar or use the arrow keys" });
    const button = (text, act) => el("button", { class: "small", type: "button", text, title: `Download as ${text}`, on: { click: act } });
    this.element = el("figure", { class: "panel" }, this.root,
      el("div", { class: "row between" },
        el("span", {}, key("", "distinguished"), key("collapsed", "collapsed"), key("ghost", "oversample to here")),
        el("span", { class: "plot-tools" }, button("PNG", () => this.png()), button("CSV", () => this.save()))));
    this.element.style.margin = "0";
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.root);
    this.root.addEventListener("pointerdown", event => this.grab(event));
    this.root.addEventListener("pointermove", event => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) this.root.addEventListener(end, () => { this.held = null; });
    this.root.addEventListener("keydown", event => this.key(event));
  }
  remove() { this.observer.disconnect(); }
  set(counts) { if (counts.length !== this.counts.length) { this.collapsed = []; this.rates = null; } this.counts = counts; this.scale(); this.draw(); }
  judge(collapsed, needed) { this.collapsed = collapsed; this.needed = needed; this.draw(); }
  cure(rates) { this.rates = rates; this.draw(); }
  scale() {
    if (this.held) return; // the axis stays while a bar is in the hand
    this.top = 10 ** Math.ceil(Math.log10(Math.max(...this.counts, 10)) + .15);
    this.low = 10 ** Math.floor(Math.log10(Math.max(LOWEST, Math.min(...this.counts))) - .3);
  }
  get size() { return { width: Math.max(this.root.clientWidth, 200), height: Math.max(this.root.clientHeight, 120) }; }
  y(count) { const { height } = this.size, span = Math.log10(this.top / this.low); return TOP + (height - TOP - BOTTOM) * (1 - Math.min(1, Math.max(0, Math.log10(count / this.low) / span))); }
  value(y) { const { height } = this.size, share = 1 - (y - TOP) / (height - TOP - BOTTOM); return this.low * (this.top / this.low) ** share; }

  draw() {
    if (!this.counts.length || !this.root.clientWidth) return;
    const { width, height } = this.size, step = (width - LEFT - RIGHT) / this.counts.length, floor = height - BOTTOM;
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (this.bars?.length !== this.counts.length) this.build();
    const ticks = [];
    for (let level = this.low; level <= this.top * 1.001; level *= 10) ticks.push(
      svg("line", { class: "tick", x1: LEFT, x2: width - RIGHT, y1: this.y(level), y2: this.y(level) }),
      text(LEFT - 6, this.y(level) + 4, level.toLocaleString("en"), "end"));
    this.ticks.replaceChildren(...ticks);
    const every = Math.ceil(26 / step), gap = step > 6 ? Math.min(6, step * .18) : 0;
    const labels = [];
    this.counts.forEach((count, k) => {
      const bar = this.bars[k], x = LEFT + k * step + gap / 2, wide = Math.max(step - gap, .5), y = this.y(count);
      place(bar.rect, { x, y, width: wide, height: Math.max(floor - y, 1), class: this.collapsed[k] ? "bar collapsed" : "bar" });
      place(bar.hit, { x, y: TOP, width: wide, height: floor - TOP });
      const rate = this.rates?.[k] ?? 1, ghost = this.y(count * rate);
      place(bar.ghost, { x, y: ghost, width: wide, height: Math.max(y - ghost, 0), visibility: rate > 1.0005 ? "visible" : "hidden" });
      place(bar.group, { "aria-valuenow": count, "aria-valuetext": `${short(count)} examples${this.collapsed[k] ? ", collapsed" : ""}` });
      if (k % every === 0) labels.push(text(x + wide / 2, height - 9, String(k), "middle"));
      if (step > 34) labels.push(text(x + wide / 2, y - 4, short(count, 3), "middle"));
    });
    if (this.needed !== null && this.needed >= this.low && this.needed <= this.top) {
      const y = this.y(this.needed);
      labels.push(svg("line", { class: "needed", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }), text(width - RIGHT - 2, y - 5, `needed: ${short(this.needed)}`, "end", "needed-words"));
    }
    this.labels.replaceChildren(...labels);
  }
  build() {
    this.ticks = svg("g"); this.labels = svg("g", { "pointer-events": "none", "aria-hidden": "true" });
    this.bars = this.counts.map((_, k) => {
      const rect = svg("rect"), ghost = svg("rect", { class: "ghost" }), hit = svg("rect", { class: "hit" });
      const group = svg("g", { role: "slider", tabindex: k === 0 ? 0 : -1, "data-class": k, "aria-label": `class ${k}`, "aria-orientation": "vertical", "aria-valuemin": LOWEST, "aria-valuemax": HIGHEST }, rect, ghost, hit);
      return { group, rect, ghost, hit };
    });
    this.root.replaceChildren(this.ticks, ...this.bars.map(bar => bar.group), this.labels);
  }
  change(k, value) {
    const next = Math.min(HIGHEST, Math.max(LOWEST, value));
    const count = next >= 20 ? Math.round(next) : Number(next.toPrecision(2));
    if (count === this.counts[k]) return;
    this.counts = this.counts.with ? this.counts.with(k, count) : Object.assign([...this.counts], { [k]: count });
    this.draw();
    this.onChange(this.counts);
  }
  at(event) {
    const box = this.root.getBoundingClientRect(), { width, height } = this.size;
    const x = (event.clientX - box.left) * width / box.width, y = (event.clientY - box.top) * height / box.height;
    return { k: Math.floor((x - LEFT) / ((width - LEFT - RIGHT) / this.counts.length)), value: this.value(y) };
  }
  grab(event) {
    const { k, value } = this.at(event);
    if (k < 0 || k >= this.counts.length) return;
    this.root.setPointerCapture(event.pointerId);
    this.held = { k };
    this.focus(k);
    event.preventDefault();
    this.change(k, value);
  }
  drag(event) { if (this.held) this.change(this.held.k, this.at(event).value); }
  focus(k) {
    this.bars.forEach((bar, index) => bar.group.setAttribute("tabindex", index === k ? "0" : "-1"));
    this.bars[k].group.focus({ preventScroll: true });
  }
  key(event) {
    const k = Number(event.target.dataset?.class ?? -1);
    if (k < 0) return;
    const count = this.counts[k], nudge = Math.max(1, Math.abs(count) * .02);
    const moves = { ArrowUp: count + nudge, ArrowDown: count - nudge, PageUp: count * 1.5, PageDown: count / 1.5, Home: LOWEST, End: Math.max(...this.counts) };
    const steps = { ArrowLeft: k - 1, ArrowRight: k + 1 };
    if (event.key in moves) { event.preventDefault(); this.change(k, moves[event.key]); this.scale(); this.draw(); }
    else if (event.key in steps) { event.preventDefault(); const next = steps[event.key]; if (next >= 0 && next < this.counts.length) this.focus(next); }
  }
  async png() { download("class-histogram.png", await svgToPng(this.root)); }
  save() { download("class-histogram.csv", "class,count,collapsed,rate\r\n" + this.counts.map((count, k) => `${k},${count},${this.collapsed[k] ? 1 : 0},${this.rates?.[k] ?? 1}`).join("\r\n") + "\r\n", "text/csv"); }
}

const key = (kind, words) => el("span", { class: "key" }, el("span", { class: `swatch ${kind}` }), words);
const place = (element, attributes) => { for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value); };
function text(x, y, words, anchor, kind) { const element = svg("text", { x, y, "text-anchor": anchor, class: kind }); element.textContent = words; return element; }

// A copy with the colours of the page written into it, drawn on a canvas.
async function svgToPng(root) {
  const copy = root.cloneNode(true), from = [root, ...root.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight"]) to[index].setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = root.getBoundingClientRect();
  copy.setAttribute("width", width); copy.setAttribute("height", height); copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  await image.decode();
  const canvas = el("canvas", {}); canvas.width = 2 * width; canvas.height = 2 * height;
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.body).backgroundColor; pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(resolve => canvas.toBlob(resolve, "image/png"));
}
