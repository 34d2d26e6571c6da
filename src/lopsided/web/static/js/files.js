// Choosing a file: it is sent to this machine's server, and a job looks what is in it.
import { upload } from "./api.js";
import { el } from "./dom.js";
import { follow, jobLine, result, start } from "./jobs.js";

export const ENDINGS = ".npz,.npy,.parquet,.pq,.csv,.tsv";

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
  const usual = "npz, npy, parquet, csv or tsv; it stays on this machine.";
  const input = el("input", { type: "file", accept: ENDINGS, "aria-label": "File of examples" });
  const line = jobLine(), words = el("p", { class: "soft", text: usual });
  const element = el("div", { class: "drop field" }, input, words, line);
  async function take(file) {
    if (!file) return;
    onClear();
    words.textContent = `${file.name}: sending …`;
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
