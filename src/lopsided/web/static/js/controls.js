// Sliders with their number, choices, recipes; all reachable by keyboard.
import { el } from "./dom.js";

let counter = 0;

export function slider({ label, min, max, step = "any", value, log = false, onInput, digits = 3 }) {
  const id = `control-${++counter}`;
  const toRange = number => (log ? Math.log10(number) : number), fromRange = place => (log ? 10 ** place : place);
  const tidy = number => Number(number.toPrecision(digits));
  const range = el("input", { type: "range", id, min: String(toRange(min)), max: String(toRange(max)), step: log ? "0.01" : String(step), value: String(toRange(value)) });
  const number = el("input", { type: "number", min: String(min), max: String(max), step: "any", value: String(tidy(value)), "aria-label": label });
  const set = next => { number.value = String(next); range.setAttribute("aria-valuetext", String(next)); };
  range.addEventListener("input", () => { const next = step === 1 ? Math.round(fromRange(Number(range.value))) : tidy(fromRange(Number(range.value))); set(next); onInput(next); });
  number.addEventListener("input", () => {
    const next = Number(number.value);
    if (number.value === "" || !Number.isFinite(next) || next < min || next > max) { number.setAttribute("aria-invalid", "true"); return; }
    number.removeAttribute("aria-invalid");
    range.value = String(toRange(next));
    onInput(next);
  });
  const element = el("div", { class: "field" }, el("label", { for: id, class: "legend", text: label }), el("div", { class: "slider-row" }, range, number));
  element.set = next => { range.value = String(toRange(next)); set(tidy(next)); };
  return element;
}

export function choice({ label, options, value, onChange }) {
  const select = el("select", { on: { change: () => onChange(select.value) } }, options.map(([name, words]) => el("option", { value: name, text: words })));
  select.value = value;
  const element = el("label", { class: "field" }, el("span", { text: label }), select);
  element.set = next => { select.value = next; };
  element.select = select;
  return element;
}

export function recipe() {
  const python = el("pre", { "aria-label": "Python", tabindex: "0" }), command = el("pre", { "aria-label": "Command line", tabindex: "0" });
  const copy = source => el("button", { class: "small", type: "button", text: "Copy", on: { click: async event => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      event.target.textContent = "Copied";
    } catch { // beyond loopback, without TLS, a page may not write there
      getSelection().selectAllChildren(source);
      event.target.textContent = "Selected: Ctrl+C";
    }
    setTimeout(() => { event.target.textContent = "Copy"; }, 1500);
  } } });
  const element = el("details", { class: "panel recipe" }, el("summary", { text: "The same numbers in Python and on the command line" }),
    el("div", { class: "row between" }, el("strong", { text: "Python" }), copy(python)), python,
    el("div", { class: "row between" }, el("strong", { text: "Command line" }), copy(command)), command);
  element.show = found => { python.textContent = found?.python ?? ""; command.textContent = found?.command ?? ""; };
  return element;
}

export function statusLine(onCancel) {
  const spinner = el("span", { class: "spinner", hidden: true }), words = el("span", { role: "status" });
  const cancel = el("button", { class: "small", type: "button", text: "Cancel", hidden: true, on: { click: onCancel } });
  const element = el("div", { class: "status" }, spinner, words, cancel);
  element.busy = (now, text = "computing …") => { spinner.hidden = cancel.hidden = !now; if (now) { words.className = ""; words.textContent = text; } };
  element.say = (text, wrong = false) => { words.className = wrong ? "error" : ""; words.textContent = text; };
  return element;
}
