// Room 5: audit of a file.
import { el, head } from "../dom.js";

export function mount(place) {
  place.append(head("Audit", "Which classes and groups of your data will fail, why, and what mends it."), el("p", { class: "soft", text: "lopsided audit DATA does this on the command line." }));
}
