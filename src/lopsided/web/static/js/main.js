// The frame: rooms, theme, jobs. A room is a module that is loaded when it is entered.
import { forget, read } from "./address.js";
import { el } from "./dom.js";
import { installTray } from "./jobs.js";
import { redraw } from "./plots.js";

const ROOMS = { collapse: "Collapse", groups: "Groups", memorisation: "Memorisation", width: "Width", audit: "Audit", trial: "Trial", claims: "Claims" };
const DRAWING = ["collapse", "groups", "memorisation", "width"]; // their first view has plots
const main = document.getElementById("main"), nav = document.getElementById("rooms");
let leave = null, shown = null, turn = 0;

for (const [room, title] of Object.entries(ROOMS)) nav.append(el("a", { href: `#/${room}`, "data-room": room, text: title }));

// On a phone the names of the rooms scroll; the one that is open is in view.
function reveal() {
  const link = nav.querySelector("[aria-current]");
  if (link) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.clientWidth) / 2;
}
addEventListener("resize", reveal);

async function enter() {
  const address = read(), room = address.room in ROOMS ? address.room : "collapse", mine = ++turn;
  forget();
  for (const link of nav.children) {
    link.dataset.room === room ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  reveal();
  document.title = `${ROOMS[room]} · lopsided`;
  const module = await import(`./rooms/${room}.js`);
  if (mine !== turn) return;
  leave?.();
  const place = el("div", { class: `room-${room}` });
  main.replaceChildren(place);
  if (shown && shown !== room) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
  shown = room;
  leave = module.mount(place, address) ?? null;
}

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" }, button = document.getElementById("theme");
function theme(name) {
  name === "auto" ? document.documentElement.removeAttribute("data-theme") : document.documentElement.setAttribute("data-theme", name);
  button.textContent = THEMES[name];
  button.setAttribute("aria-label", `Light or dark: ${THEMES[name]}`);
  try { localStorage.setItem("theme", name); } catch { /* private windows keep nothing */ }
  redraw();
  dispatchEvent(new Event("themechange"));
}
let stored = null;
try { stored = localStorage.getItem("theme"); } catch { /* private windows keep nothing */ }
theme(stored in THEMES ? stored : "auto");
button.addEventListener("click", () => {
  const names = Object.keys(THEMES), now = document.documentElement.getAttribute("data-theme") ?? "auto";
  theme(names[(names.indexOf(now) + 1) % names.length]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redraw(); dispatchEvent(new Event("themechange")); });
document.getElementById("skip").addEventListener("click", () => main.focus());

if (DRAWING.includes(read().room || "collapse")) document.head.append(el("link", { rel: "preload", as: "script", href: "/static/plotly.js", fetchpriority: "low" }));
addEventListener("hashchange", enter);
enter();
installTray();
