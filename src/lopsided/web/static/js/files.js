// Choosing a file: it is sent to this machine's server, and a job looks what is in it.
import { upload } from "./api.js";
import { choice } from "./controls.js";
import { el } from "./dom.js";
import { follow, jobLine, result, start } from "./jobs.js";

export const ENDINGS = ".npz,.npy,.parquet,.pq,.csv,.tsv,.gz,.feather,.arrow,.jsonl,.ndjson,.xlsx";

// The choice of a set names what will be used: a file that was taken appears in it, chosen, and goes with the next one.
export function chooseFile(choice, name) {
  forgetFile(choice);
  choice.select.append(el("option", { value: "file", text: `your file ${name}` }));
  choice.set("file");
}
export function forgetFile(choice) {
  const own = choice.select.querySelector("option[value=file]");
  if (own) { own.remove(); choice.select.selectedIndex = 0; }
}

export function fileChooser({ onFile, onClear = () => {}, stops }) {
  const usual = "npz, npy, parquet, csv, csv.gz, feather, jsonl or xlsx; it stays on this machine.";
  const input = el("input", { type: "file", accept: ENDINGS, "aria-label": "File of examples" });
  const line = jobLine(), words = el("p", { class: "soft", text: usual });
  const element = el("div", { class: "drop field" }, input, words, line);
  async function take(file) {
    if (!file) return;
    onClear();
    words.textContent = `${file.name}: uploading …`;
    try {
      const kept = await upload(file);
      const job = await start(`/api/uploads/${kept.id}/inspect`);
      line.show(job);
      stops.push(follow(job.id, { status: line.show, end: async last => {
        if (last.state !== "done") { words.textContent = `${file.name} cannot be used.`; return; }
        const facts = await result(job.id);
        words.textContent = `${facts.name}: ${facts.rows.toLocaleString("en")} examples, ${facts.features.toLocaleString("en")} features${facts.pictures ? `, pictures of ${facts.pictures.join(" × ")}` : ""}`;
        onFile({ ...facts, upload: kept.id });
      } }));
    } catch (error) { words.textContent = ""; line.fail(error.message); }
  }
  input.addEventListener("change", () => take(input.files[0]));
  element.addEventListener("dragover", event => { event.preventDefault(); element.classList.add("over"); });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", event => { event.preventDefault(); element.classList.remove("over"); take(event.dataTransfer.files[0]); });
  return { element, clear: () => { input.value = ""; words.textContent = usual; line.hidden = true; onClear(); } };
}

// What to work on: a built-in set or a file, and which of its columns and arrays mean what; `asked` says it to the server.
export function dataChooser({ label, columns, arrays = {}, otherwise, stops, onChange = () => {} }) {
  const sets = [["long-tailed digits", "long-tailed digits"], ["digits", "digits"]], mapping = el("div");
  let asked = { builtin: sets[0][0], upload: null }, file = null;
  const changed = () => onChange(asked, file?.columns.find(column => column.name === asked.labels));
  const builtin = choice({ label, options: sets, value: sets[0][0], onChange: value => { if (value === "file") return; chooser.clear(); builtin.set(value); asked = { builtin: value, upload: null }; changed(); } });
  const chooser = fileChooser({ stops, onClear: () => { file = null; mapping.replaceChildren(); forgetFile(builtin); asked = { builtin: builtin.select.value, upload: null }; }, onFile: facts => {
    asked = { builtin: null, upload: facts.upload };
    file = facts;
    chooseFile(builtin, facts.name);
    const pick = (name, words, options, value = "") => choice({ label: words, value, options: [["", otherwise], ...options.map(option => [option, option])], onChange: chosen => { asked[name] = chosen || null; changed(); } });
    const names = facts.columns.map(column => column.name), beside = facts.arrays.filter(name => !names.includes(name));
    if (facts.label) asked.labels = facts.label;
    const groups = el("fieldset", {}, el("legend", { text: "Groups" }), names.filter(name => name !== facts.label).map(name => {
      const box = el("input", { type: "checkbox", on: { change: () => { asked.groups = (asked.groups ?? []).filter(other => other !== name); if (box.checked) asked.groups.push(name); } } });
      return el("label", { class: "row" }, box, `${name} (${facts.columns.find(column => column.name === name).values} values)`);
    }));
    mapping.replaceChildren(...Object.entries(columns).map(([name, words]) => pick(name, words, names, name === "labels" ? facts.label ?? "" : "")), names.length > 1 ? groups : "",
      ...(beside.length ? Object.entries(arrays).map(([name, words]) => pick(name, words, beside)) : []));
    changed();
  } });
  return { elements: [builtin, chooser.element, mapping], asked: () => asked };
}
