// The view lives in the address, so that it can be shared and reloaded: #/room?name=value

export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { room: path.split("/")[0], rest: path.split("/").slice(1).map(decodeURIComponent), values: new URLSearchParams(query) };
}

let timer = null;
export function write(path, values) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [name, String(value)]));
  const hash = `#/${path}${[...query].length ? `?${query}` : ""}`;
  clearTimeout(timer); // browsers limit how often an address may change
  timer = setTimeout(() => { if (location.hash !== hash) history.replaceState(null, "", hash); }, 150);
}
export const forget = () => clearTimeout(timer);

export function number(values, name, fallback, min = -Infinity, max = Infinity) {
  const value = Number(values.get(name));
  return values.has(name) && values.get(name) !== "" && Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : fallback;
}
