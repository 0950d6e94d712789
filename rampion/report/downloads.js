"use strict";
// Every chart as SVG, PNG and CSV, every table as CSV. The files are made here, from what the page shows; nothing is fetched.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const PAINT = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity",
    "font-family", "font-size", "font-weight", "text-anchor",
  ];
  const TITLE = 30, SHARPNESS = 3; // pixels above the chart; pixels of a PNG for each of the chart

  // A page without its style: each element gets what it is painted with as attributes of its own.
  function standalone(chart, title) {
    const copy = chart.cloneNode(true), box = chart.viewBox.baseVal;
    const originals = [chart, ...chart.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
    originals.forEach((original, n) => {
      const style = getComputedStyle(original), element = copies[n];
      if (["title", "clipPath"].includes(original.tagName) || original.closest("clipPath")) return;
      for (const name of PAINT) {
        const value = style.getPropertyValue(name);
        if (value && value !== "none" && value !== "normal") element.setAttribute(name, value);
        else if (name === "fill" || name === "stroke") element.setAttribute(name, "none");
      }
      if (original.style.transform) element.setAttribute("transform", style.transform);
      element.removeAttribute("class");
      element.removeAttribute("style");
    });
    const made = (name, attributes, ...children) => {
      const element = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.append(...children);
      return element;
    };
    const page = getComputedStyle(document.body), height = box.height + TITLE;
    const whole = made("svg", { xmlns: SVG, viewBox: `0 0 ${box.width} ${height}`, width: box.width, height });
    const name = { x: 14, y: 20, fill: page.color, "font-family": page.fontFamily, "font-size": 15, "font-weight": 600 };
    whole.append(made("rect", { width: "100%", height: "100%", fill: page.backgroundColor }), made("text", name, title));
    whole.append(made("g", { transform: `translate(0 ${TITLE})` }, ...copy.childNodes));
    return { text: new XMLSerializer().serializeToString(whole), width: box.width, height };
  }

  async function painted({ text, width, height }) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * SHARPNESS, height * SHARPNESS];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  // As RFC 4180 has it. Numbers get a plain minus and no commas; a text that a spreadsheet would compute gets an apostrophe.
  function cell(element) {
    const told = element.textContent.trim();
    const plain = told.replaceAll("−", "-").replace(/(?<=\d),(?=\d{3})/g, "");
    if (/^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(plain)) return plain.replace(/^\+/, "");
    const safe = /^[=+\-@\t\r]/.test(told) ? `'${told}` : told;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  function csv(table) {
    const rows = [...table.rows].map((row) => [...row.cells].map(cell));
    const full = rows[0].map((_, n) => rows.some((row) => row[n])); // columns of pictures have no text
    return rows.map((row) => row.filter((_, n) => full[n]).join(",")).join("\r\n") + "\r\n";
  }

  function save(title, ending, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "table"}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const text = (content, type) => new Blob([content], { type: `${type};charset=utf-8` });

  // find(): the chart or the table at the time of the click, as the explorer draws new ones.
  function offer(after, title, find, kinds) {
    const row = document.createElement("p");
    row.className = "downloads";
    for (const kind of kinds) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Download ${title} as ${kind}`);
      button.addEventListener("click", async () => {
        const found = find(kind);
        if (!found) return;
        if (kind === "CSV") save(title, "csv", text(csv(found), "text/csv"));
        else if (kind === "SVG") save(title, "svg", text(standalone(found, title).text, "image/svg+xml"));
        else save(title, "png", await painted(standalone(found, title)));
      });
      row.append(button);
    }
    after.after(row);
  }

  for (const figure of document.querySelectorAll("figure")) {
    const chart = figure.querySelector("svg"), table = figure.querySelector("table");
    const title = figure.querySelector("figcaption").textContent;
    if (chart) offer(chart.parentElement, title, (kind) => (kind === "CSV" ? table : chart), table ? ["SVG", "PNG", "CSV"] : ["SVG", "PNG"]);
  }
  for (const table of document.querySelectorAll(".scroll > table"))
    if (!table.closest("figure, #texts, #moved"))
      offer(table.parentElement, table.caption ? table.caption.textContent : "table", () => table, ["CSV"]);
  const explorer = { plane: ["Score and cost", "svg", ["SVG", "PNG"]], texts: ["Texts", "table", ["CSV"]], moved: ["What moved it", "table", ["CSV"]] };
  for (const [id, [title, what, kinds]] of Object.entries(explorer)) {
    const part = document.getElementById(id);
    const named = () => part.querySelector(what);
    if (part) offer(part, title, named, kinds);
  }
})();
