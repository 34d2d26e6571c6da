// Elements are made with text, never with markup, so nothing from outside can become part of the page.

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "text") element.textContent = value;
    else if (name in element && typeof value !== "string" && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function csv(rows) {
  const cell = value => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 10 ** digits && size < 1e15) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function head(title, words) {
  return el("header", { class: "room-head" }, el("h1", { text: title }), el("p", { text: words }));
}

export function factTable(rows) {
  return el("table", { class: "facts" }, el("tbody", {}, rows.map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row", text: name }), el("td", { text: value })))));
}

export function table(columns, rows) {
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", { scope: "col", class: typeof rows[0]?.[i] === "number" ? "number" : null, text: name })))),
    el("tbody", {}, rows.map(row => el("tr", {}, row.map(value =>
      value instanceof Node ? el("td", {}, value) : el("td", { class: typeof value === "number" ? "number" : null, text: typeof value === "number" ? short(value) : value ?? "–" })))))));
}

// Names with a bar and a number each.
export function bars(rows) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return el("table", { class: "bars" }, el("tbody", {}, rows.map(([name, count]) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${(100 * count) / most}%`;
    return el("tr", {}, el("th", { scope: "row", text: name }), el("td", {}, el("div", {}, el("span", { class: "track" }, bar), count.toLocaleString("en"))));
  })));
}
