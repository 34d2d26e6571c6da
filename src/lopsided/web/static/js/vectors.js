// The shadow of the classifiers in three dimensions on a canvas; turned by dragging or with the arrow keys.
import { colour, download, el } from "./dom.js";

export class Vectors {
  constructor() {
    this.turn = .6; this.tilt = .35; this.points = []; this.collapsed = [];
    this.canvas = el("canvas", { class: "vectors", tabindex: "0", role: "img", "aria-label": "Classifier vectors in three dimensions; the arrow keys rotate them" });
    const button = (text, act) => el("button", { class: "small", type: "button", text, title: `Download as ${text}`, on: { click: act } });
    this.words = el("p", { class: "soft" });
    this.element = el("figure", { class: "panel" }, el("h2", { text: "Classifier vectors" }), this.canvas, this.words, el("div", { class: "plot-tools" }, button("PNG", () => this.png()), button("JSON", () => this.json())));
    this.element.style.margin = "0";
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
    this.canvas.addEventListener("pointerdown", event => { this.held = [event.clientX, event.clientY]; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", event => {
      if (!this.held) return;
      this.rotate((event.clientX - this.held[0]) / 120, (event.clientY - this.held[1]) / 120);
      this.held = [event.clientX, event.clientY];
    });
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => { this.held = null; });
    this.canvas.addEventListener("keydown", event => {
      const moves = { ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1] };
      if (event.key in moves) { event.preventDefault(); this.rotate(...moves[event.key]); }
    });
    this.theme = () => this.draw();
    addEventListener("themechange", this.theme);
  }
  remove() { this.observer.disconnect(); removeEventListener("themechange", this.theme); }
  rotate(turn, tilt) { this.turn += turn; this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + tilt)); this.draw(); }
  show(points, collapsed) {
    this.points = points; this.collapsed = collapsed;
    this.words.textContent = points.length ? "A linear projection of the classifier vectors. Classes at one point share one classifier. Drag to rotate." : "Drawn for up to 100 classes.";
    this.draw();
  }
  draw() {
    const ratio = devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width) return;
    this.canvas.width = width * ratio; this.canvas.height = height * ratio;
    this.paint(this.canvas.getContext("2d"), width, height, ratio);
  }
  paint(pen, width, height, ratio) {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const [ct, st, cs, ss] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.tilt), Math.sin(this.tilt)];
    const reach = Math.min(width, height) * .42, centre = [width / 2, height / 2];
    const project = ([x, y, z]) => {
      const a = ct * x - st * y, b = st * x + ct * y, depth = cs * b - ss * z, up = ss * b + cs * z;
      const near = 3 / (3 + depth);
      return { x: centre[0] + reach * a * near, y: centre[1] - reach * up * near, depth };
    };
    pen.strokeStyle = colour("--line"); pen.lineWidth = 1;
    for (const ring of rings) { pen.beginPath(); ring.forEach((point, i) => { const { x, y } = project(point); i ? pen.lineTo(x, y) : pen.moveTo(x, y); }); pen.stroke(); }
    const drawn = this.points.map((point, k) => ({ ...project(point), k })).sort((a, b) => b.depth - a.depth);
    const good = colour("--bar"), bad = colour("--bar-bad"), ink = colour("--ink");
    for (const { x, y, depth, k } of drawn) {
      pen.globalAlpha = Math.max(.35, Math.min(1, .75 - .35 * depth));
      pen.strokeStyle = pen.fillStyle = this.collapsed[k] ? bad : good;
      pen.lineWidth = 2;
      pen.beginPath(); pen.moveTo(...centre); pen.lineTo(x, y); pen.stroke();
      pen.beginPath(); pen.arc(x, y, 4.5 - depth, 0, 7); pen.fill();
    }
    pen.globalAlpha = 1;
    if (this.points.length <= 30) {
      pen.fillStyle = ink; pen.font = "11px system-ui, sans-serif";
      const groups = new Map(); // classes on one point share one label
      for (const { x, y, k } of drawn) { const name = `${Math.round(x / 4)},${Math.round(y / 4)}`; groups.set(name, [...(groups.get(name) ?? []), { x, y, k }]); }
      for (const members of groups.values()) {
        const names = members.map(member => member.k).sort((a, b) => a - b);
        pen.fillText(names.length > 3 ? `${names[0]} … ${names.at(-1)} (${names.length})` : names.join(", "), members[0].x + 7, members[0].y - 6);
      }
    }
  }
  png() {
    const canvas = el("canvas", {}); canvas.width = 1200; canvas.height = 900;
    this.paint(canvas.getContext("2d"), 600, 450, 2);
    const pen = canvas.getContext("2d"); pen.globalCompositeOperation = "destination-over"; pen.fillStyle = colour("--paper"); pen.fillRect(0, 0, 1200, 900);
    canvas.toBlob(blob => download("classifier-vectors.png", blob), "image/png");
  }
  json() { download("classifier-vectors.json", JSON.stringify({ shadow: this.points, collapsed: this.collapsed }), "application/json"); }
}

const turns = Array.from({ length: 61 }, (_, i) => i / 60 * 2 * Math.PI);
const rings = [turns.map(t => [Math.cos(t), Math.sin(t), 0]), turns.map(t => [Math.cos(t), 0, Math.sin(t)]), turns.map(t => [0, Math.cos(t), Math.sin(t)])];
