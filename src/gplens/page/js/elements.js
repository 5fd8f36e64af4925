// Elements of the page. Texts of the user go through textContent and attributes alone, never through HTML.

/** An element with attributes, listeners (onclick: ...) and children; texts become text nodes. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined).map(asNode));
  return element;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** The children of an element replaced. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined).map(asNode));
  return element;
}

/** The text of an element; written only if it changed, since every write costs a layout. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The class of an element; written only if it changed. */
export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

/** A menu: options are [value, text]. */
export function menu(label, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) });
  select.append(...options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value;
  return el("label", { class: "field" }, el("span", {}, label), select);
}

/** A table of texts with a caption; the first column is the heading of its row. */
export function textTable(caption, head, rows) {
  const headings = el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)));
  const lines = rows.map((row) => el("tr", {}, row.map((text, i) => (i ? el("td", {}, text) : el("th", { scope: "row" }, text)))));
  return el("table", {}, el("caption", {}, caption), el("thead", {}, headings), el("tbody", {}, lines));
}

/** What is behind a summary until one asks for it. */
export function folded(summary, ...children) {
  return el("details", {}, el("summary", {}, summary), ...children);
}

/** A cell of a CSV file: quoted, and never read as a formula. */
export function csvCell(value) {
  if (typeof value === "number") return String(value);
  const text = value === null || value === undefined ? "" : String(value);
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${inert.replaceAll('"', '""')}"`;
}

/** Rows as CSV. */
export function csvText(rows) {
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
}
