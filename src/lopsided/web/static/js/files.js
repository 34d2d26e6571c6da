// Choosing a file: it is sent to this machine's server, and a job looks what is in it.
import { upload } from "./api.js";
import { el } from "./dom.js";
import { follow, jobLine, result, start } from "./jobs.js";

export const ENDINGS = ".npz,.npy,.parquet,.pq,.csv,.tsv";

export function fileChooser({ onFile, onClear = () => {}, stops }) {
  const input = el("input", { type: "file", accept: ENDINGS, "aria-label": "File of examples" });
  const line = jobLine(), words = el("p", { class: "soft", text: "npz, npy, parquet, csv or tsv; it stays on this machine." });
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
  return { element, clear: () => { input.value = ""; words.textContent = ""; onClear(); } };
}
