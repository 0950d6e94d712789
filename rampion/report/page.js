"use strict";
// The k-best explorer: all that it shows stands in the page. Texts become text nodes, never markup.
(async () => {
  const at = (id) => document.getElementById(id);
  const held = JSON.parse(at("data").textContent);
  const root = document.querySelector(".explorer");

  const inflated = async ({ type, data }) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    if (type === "JSON") return JSON.parse(new TextDecoder().decode(planes));
    const kind = globalThis[`${type}Array`], size = kind.BYTES_PER_ELEMENT, count = planes.length / size;
    const whole = new Uint8Array(planes.length);
    for (let byte = 0, from = 0; byte < size; byte++)
      for (let n = 0; n < count; n++) whole[n * size + byte] = planes[from++];
    return new kind(whole.buffer);
  };
  try {
    await Promise.all(Object.keys(held).map(async (key) => {
      if (held[key] && held[key].data) held[key] = await inflated(held[key]);
    }));
  } catch {
    root.replaceChildren(made("p", { class: "quiet" }, "This browser cannot unpack the lists; a newer one can."));
    return;
  }

  // Elements

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
    element.append(...children.filter((child) => child != null));
    return element;
  }
  function made(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
  }
  function drawn(name, attributes = {}, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  }
  const told = (x, places = 2) => (x == null ? "" : x.toFixed(places).replace("-", "−"));
  const signed = (x, places = 4) => (x > 0 ? "+" : "") + told(x, places);

  // What stands in the lists

  const { roles, rounds, segments, bounds } = held;
  const [PREDICTION, , , ORACLE] = roles.map((_, n) => n);
  const many = segments.length, total = held.candidates;
  for (let sum = 0; sum < 2; sum++)
    for (let k = total; k < held.scores.length; k++) held.scores[k] += held.scores[k - total]; // modulo 65536
  const score = (round, s, i) => {
    const list = round * many + s;
    return held.lows[list] + (held.spread[list] * held.scores[round * total + i]) / 65535;
  };
  const pick = (round, role, s) => bounds[s] + held.picks[(round * roles.length + role) * many + s];
  const regret = (round, s) => held.regrets[round * many + s];
  const members = (s) => Array.from({ length: bounds[s + 1] - bounds[s] }, (_, n) => bounds[s] + n);
  const rolesOf = (i) => roles.filter((_, role) => pick(now.round, role, now.segment) === i);

  const now = { segment: 0, round: held.chosen, selected: null, from: 0, against: "alone", order: [] };
  const current = () => now.selected ?? pick(now.round, PREDICTION, now.segment);

  // The segments

  const haystacks = segments.map((name, s) =>
    [name, held.sources[s], ...held.references[s], ...held.texts.slice(bounds[s], bounds[s + 1])].join("\n").toLowerCase());
  const most = held.regrets.reduce((a, b) => Math.max(a, b), 0) || 1;
  const entries = segments.map((name, s) => made(
    "li", { role: "option", id: `segment-${s}` },
    made("span", { class: "id" }, name), made("span", { class: "cost" }), made("span", { class: "text", dir: "auto" }),
  ));
  const FIRST = { regret: (s) => -regret(now.round, s), gain: (s) => regret(now.round, s) - regret(0, s), order: (s) => s };

  function list() {
    const wanted = at("find").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const first = FIRST[at("sort").value];
    now.order = segments.map((_, s) => s).filter((s) => wanted.every((word) => haystacks[s].includes(word)))
      .sort((a, b) => first(a) - first(b) || a - b);
    at("list").replaceChildren(...now.order.map((s) => entries[s]));
    at("found").textContent = `${now.order.length.toLocaleString("en")} of ${many.toLocaleString("en")} segments`;
    mark();
  }
  function refresh() {
    entries.forEach((entry, s) => {
      const [, cost, text] = entry.children;
      cost.textContent = told(regret(now.round, s));
      cost.style.setProperty("--share", `${(100 * regret(now.round, s)) / most}%`);
      text.textContent = held.texts[pick(now.round, PREDICTION, s)];
    });
  }
  function mark() {
    entries.forEach((entry, s) => entry.setAttribute("aria-selected", s === now.segment));
    const shown = now.order.includes(now.segment);
    if (shown) at("list").setAttribute("aria-activedescendant", `segment-${now.segment}`);
    else at("list").removeAttribute("aria-activedescendant");
    if (!shown) return;
    const box = at("list"), entry = entries[now.segment];
    const above = entry.offsetTop - box.scrollTop, below = above + entry.offsetHeight - box.clientHeight;
    if (above < 0) box.scrollTop += above;
    else if (below > 0) box.scrollTop += below;
  }
  function choose(s) {
    if (s === undefined || s < 0) return;
    now.segment = s;
    now.selected = null;
    mark();
    build();
    show();
  }

  for (const link of document.querySelectorAll("a[data-segment]")) {
    link.addEventListener("click", () => {
      at("find").value = "";
      list();
      choose(segments.indexOf(link.dataset.segment));
    });
  }

  // The plane

  const WIDTH = 640, HEIGHT = 430, LEFT = 52, RIGHT = 24, TOP = 22, BOTTOM = 48;
  const SHAPES = {
    prediction: "M-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0z", hope: "M0 11 10-7H-10z",
    fear: "M0-11 10 7H-10z", oracle: "M-7.5-7.5h15v15h-15z",
  };
  const svg = drawn("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: 0, role: "application", "aria-describedby": "said",
    "aria-label": "Candidates by score and cost. Left and right go by score, up and down by cost; "
      + "p, h, f and o go to prediction, hope, fear and oracle.",
  });
  at("plane").append(svg);
  let plane;

  function steps(low, high, most) {
    const unit = 10 ** Math.floor(Math.log10((high - low) / most));
    const step = unit * [1, 2, 5, 10, 20].find((times) => (high - low) / (times * unit) <= most);
    const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
  }
  function build() {
    const inside = members(now.segment);
    // One scale for all rounds, but each has its own middle: what all scores have in common says nothing.
    const span = 1.12 * Math.max(...rounds.map((_, round) => held.spread[round * many + now.segment])) || 1;
    const first = () => {
      const list = now.round * many + now.segment;
      return held.lows[list] + (held.spread[list] - span) / 2;
    };
    const costs = inside.map((i) => held.costs[i]), room = (Math.max(...costs) - Math.min(...costs)) * 0.08 || 0.5;
    const low = Math.max(0, Math.min(...costs) - room), height = Math.max(...costs) + room - low;
    const x = (value) => LEFT + ((value - first()) / span) * (WIDTH - LEFT - RIGHT);
    const y = (value) => HEIGHT - BOTTOM - ((value - low) / height) * (HEIGHT - BOTTOM - TOP);
    const right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM, middle = (TOP + bottom) / 2;
    const axes = [
      ...steps(low, low + height, 6).flatMap((value) => [
        drawn("line", { class: "grid", x1: LEFT, x2: right, y1: y(value), y2: y(value) }),
        drawn("text", { x: LEFT - 8, y: y(value), dy: "0.35em", "text-anchor": "end" }, String(value).replace("-", "−")),
      ]),
      drawn("line", { class: "axis", x1: LEFT, x2: right, y1: bottom, y2: bottom }),
      drawn("text", { class: "name", x: (LEFT + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "score → better to the model"),
      drawn("text", { class: "name", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, "cost → worse"),
    ];
    const below = drawn("g");
    const number = () => below.replaceChildren(...steps(first(), first() + span, 8).map((value) =>
      drawn("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, String(value).replace("-", "−"))));
    const points = inside.map((i) => {
      const point = drawn("circle", { class: "point", r: 4 });
      point.addEventListener("click", () => select(i));
      return point;
    });
    const clip = drawn("clipPath", { id: "inside" },
      drawn("rect", { x: LEFT, y: TOP, width: right - LEFT, height: bottom - TOP }));
    const lines = ["hope", "fear"].map((name) => drawn("line", { class: `guide ${name}`, "clip-path": "url(#inside)" }));
    const marks = roles.map((name) => drawn("g", { class: `role ${name}` }, drawn("path", { d: SHAPES[name] })));
    const labels = roles.map((name) => drawn("text", { class: `tell ${name}` }));
    const ring = drawn("circle", { class: "ring", r: 13 });
    svg.replaceChildren(clip, ...axes, below, ...lines, drawn("g", {}, ...points), ring, ...marks, ...labels);
    plane = { inside, x, y, points, lines, marks, labels, ring, number, ends: () => [first(), first() + span] };
  }
  const move = (element, [x, y]) => { element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`; };
  const spot = (i) => [plane.x(score(now.round, now.segment, i)), plane.y(held.costs[i])];

  function place() {
    plane.number();
    plane.inside.forEach((i, n) => move(plane.points[n], spot(i)));
    move(plane.ring, spot(current()));
    plane.lines.forEach((line, n) => {
      const slope = n ? -1 : 1, i = pick(now.round, n + 1, now.segment);
      const [first, last] = plane.ends(), from = score(now.round, now.segment, i);
      fill(line, {
        x1: plane.x(first), y1: plane.y(held.costs[i] + slope * (first - from)),
        x2: plane.x(last), y2: plane.y(held.costs[i] + slope * (last - from)),
      }, []);
    });
    const used = [], high = 1.2 * parseFloat(getComputedStyle(plane.labels[0]).fontSize);
    roles.forEach((name, role) => {
      const i = pick(now.round, role, now.segment), here = spot(i), label = plane.labels[role];
      move(plane.marks[role], here);
      const same = rolesOf(i);
      label.textContent = same[0] === name ? same.join(" = ") : "";
      if (!label.textContent) return;
      const wide = label.getComputedTextLength(), toLeft = here[0] + 16 + wide > WIDTH;
      let height = here[1];
      const left = toLeft ? here[0] - 16 - wide : here[0] + 16;
      const upon = (other) => left < other[1] && other[0] < left + wide && Math.abs(height - other[2]) < high;
      for (let tries = 0; used.some(upon) && tries < 20; tries++) height += height > HEIGHT / 2 ? -5 : 5;
      used.push([left, left + wide, height]);
      label.setAttribute("text-anchor", toLeft ? "end" : "start");
      move(label, [here[0] + (toLeft ? -16 : 16), height + 4]);
    });
  }
  function select(i) {
    now.selected = i;
    show();
  }
  function step(by, value) {
    const sorted = [...plane.inside].sort((a, b) => value(a) - value(b) || a - b);
    select(sorted[Math.min(Math.max(sorted.indexOf(current()) + by, 0), sorted.length - 1)]);
  }

  // Texts

  function compared(text, reference) {
    const mine = text.split(/\s+/).filter(Boolean), theirs = reference.split(/\s+/).filter(Boolean);
    const common = Array.from({ length: mine.length + 1 }, () => new Uint16Array(theirs.length + 1));
    for (let i = mine.length - 1; i >= 0; i--)
      for (let j = theirs.length - 1; j >= 0; j--)
        common[i][j] = mine[i] === theirs[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    const parts = [];
    const add = (kind, word) => {
      if (parts.length && parts.at(-1)[0] === kind) parts.at(-1)[1].push(word);
      else parts.push([kind, [word]]);
    };
    for (let i = 0, j = 0; i < mine.length || j < theirs.length;) {
      if (i < mine.length && j < theirs.length && mine[i] === theirs[j]) { add("span", mine[i++]); j++; }
      else if (j >= theirs.length || (i < mine.length && common[i + 1][j] >= common[i][j + 1])) add("ins", mine[i++]);
      else add("del", theirs[j++]);
    }
    return { common: common[0][0] / (mine.length + theirs.length || 1), parts };
  }
  function diff(i) {
    const references = held.references[now.segment];
    if (!references.length) return [held.texts[i]];
    const best = references.map((reference) => compared(held.texts[i], reference))
      .reduce((a, b) => (b.common > a.common ? b : a));
    return best.parts.flatMap(([kind, words]) => [made(kind, {}, words.join(" ")), " "]);
  }
  function icon(name) {
    return drawn("svg", { viewBox: "-13 -13 26 26", class: `role ${name}`, "aria-hidden": true }, drawn("path", { d: SHAPES[name] }));
  }
  function texts() {
    const s = now.segment, shown = new Map();
    roles.forEach((_, role) => shown.set(pick(now.round, role, s), null));
    shown.set(current(), null);
    const rows = [...shown.keys()].map((i) => {
      const names = rolesOf(i), value = score(now.round, s, i);
      const row = made("tr", { class: i === current() ? "current" : null },
        made("th", { scope: "row" }, ...(names.length ? names.flatMap((name) => [made("span", { class: "is" }, icon(name), name)]) : ["selected"])),
        made("td", { class: "n" }, told(value)), made("td", { class: "n" }, told(held.costs[i])),
        made("td", { class: "n" }, String(held.places[i])), made("td", { dir: "auto" }, ...diff(i)));
      row.addEventListener("click", () => select(i));
      return row;
    });
    const given = (name, text) => made("tr", { class: "reference" },
      made("th", { scope: "row" }, name), made("td"), made("td"), made("td"), made("td", { dir: "auto" }, text));
    const references = held.references[s].map((text) => given("reference", text));
    const source = held.sources[s] ? [given("source", held.sources[s])] : [];
    const head = made("tr", {}, ...["", "score", "cost", "listed", "text"].map((name, n) =>
      made("th", { scope: "col", class: n > 0 && n < 4 ? "n" : null }, name)));
    const key = made("p", { class: "quiet" }, "Against the nearest reference: ", made("ins", {}, "too much"), ", ", made("del", {}, "missing"), ".");
    at("texts").replaceChildren(
      made("h3", {}, `Segment ${segments[s]}`),
      made("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Texts" },
        made("table", {}, made("thead", {}, head), made("tbody", {}, ...source, ...references, ...rows))), ...(references.length ? [key] : []));
  }

  // What moved a candidate

  const featureCount = held.features.length;
  const weight = (round, f) => (round < 0 ? 0 : held.weights[round * featureCount + f]);
  const valuesOf = (i) => {
    const values = new Map();
    for (let e = held.entryBounds[i]; e < held.entryBounds[i + 1]; e++) values.set(held.entries[e], held.values[e]);
    return values;
  };
  const AGAINST = {
    alone: ["by itself", () => null],
    before: ["beside the earlier prediction", () => (now.from < 0 ? null : pick(now.from, PREDICTION, now.segment))],
    oracle: ["beside the oracle", () => pick(now.round, ORACLE, now.segment)],
  };
  function chooser(label, options, value, chosen) {
    const select = made("select", {}, ...options.map(([name, told]) => made("option", { value: name }, told)));
    select.value = value;
    select.addEventListener("change", () => chosen(select.value));
    return made("label", {}, `${label} `, select);
  }
  const from = chooser("since", [...rounds.map((name, n) => [n, name]), [-1, "weights of 0"]], rounds.length > 1 ? 0 : -1,
    (value) => { now.from = Number(value); moved(); });
  const against = chooser("moved", Object.entries(AGAINST).map(([name, [label]]) => [name, label]), "alone",
    (value) => { now.against = value; moved(); });
  now.from = rounds.length > 1 ? 0 : -1;
  const moves = made("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What moved it" });
  const whom = made("p", { role: "status" });
  at("moved").append(made("h3", {}, "What moved it"), made("div", { class: "choices" }, against, from), whom, moves);

  function moved() {
    const s = now.segment, i = current(), other = AGAINST[now.against][1]();
    const mine = valuesOf(i), theirs = other == null ? new Map() : valuesOf(other);
    const rows = [...new Set([...mine.keys(), ...theirs.keys()])].map((f) => {
      const value = (mine.get(f) ?? 0) - (theirs.get(f) ?? 0);
      const [before, after] = [weight(now.from, f), weight(now.round, f)];
      return { name: held.features[f], value, before, after, by: value * (after - before) };
    }).filter((row) => row.by).sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    const change = (j) => (j == null ? 0 : score(now.round, s, j) - (now.from < 0 ? 0 : score(now.from, s, j)));
    const all = change(i) - change(other), shown = rows.slice(0, 10), most = Math.abs(shown[0]?.by ?? 0);
    const rest = all - shown.reduce((sum, row) => sum + row.by, 0);
    const names = rolesOf(i), since = now.from < 0 ? "weights of 0" : rounds[now.from];
    whom.textContent = `${names.length ? `The ${names.join(" and ")}` : `Candidate ${held.places[i]}`}: `
      + `${signed(all)} since ${since}${other == null ? "" : `, ${AGAINST[now.against][0]}`}.`;
    const line = (name, value, before, after, by, kind) => made("tr", { class: kind },
      made("th", { scope: "row" }, name), made("td", { class: "n" }, value), made("td", { class: "n" }, before),
      made("td", { class: "n" }, after), made("td", { class: "n" }, signed(by)),
      made("td", {}, strip(by, most)));
    const head = made("tr", {}, ...["feature", "value", "weight then", "now", "moved by", ""].map((name, n) =>
      made("th", { scope: "col", class: n > 0 && n < 5 ? "n" : null }, name)));
    moves.replaceChildren(made("table", {}, made("thead", {}, head), made("tbody", {},
      ...shown.map((row) => line(row.name, told(row.value, 4), told(row.before, 4), told(row.after, 4), row.by)),
      line("all others", "", "", "", rest, "rest"))));
  }
  function strip(by, most) {
    const share = most ? Math.min(100, (100 * Math.abs(by)) / most) : 0;
    const bar = made("span", { class: by < 0 ? "strip below" : "strip above" });
    bar.style.setProperty("--share", `${share}%`);
    return bar;
  }

  // All together

  function show() {
    at("shown").textContent = rounds[now.round];
    at("round").setAttribute("aria-valuetext", rounds[now.round]);
    place();
    texts();
    moved();
    const i = current(), names = rolesOf(i);
    at("said").textContent = `${names.length ? names.join(", ") : `candidate ${held.places[i]} of the list`}: `
      + `score ${told(score(now.round, now.segment, i))}, cost ${told(held.costs[i])}`;
  }
  const keys = (element, table) => element.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : table[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const by = (distance) => () => choose(now.order[Math.min(Math.max(now.order.indexOf(now.segment) + distance, 0), now.order.length - 1)]);
  keys(at("list"), {
    ArrowDown: by(1), ArrowUp: by(-1), PageDown: by(10), PageUp: by(-10), Home: by(-many), End: by(many),
  });
  at("list").addEventListener("click", (event) => {
    const entry = event.target.closest("li");
    if (entry) choose(entries.indexOf(entry));
  });
  const scored = (i) => score(now.round, now.segment, i), priced = (i) => held.costs[i];
  keys(svg, {
    ArrowRight: () => step(1, scored), ArrowLeft: () => step(-1, scored),
    ArrowUp: () => step(1, priced), ArrowDown: () => step(-1, priced),
    ...Object.fromEntries(roles.map((name, role) => [name[0], () => select(pick(now.round, role, now.segment))])),
  });
  at("find").addEventListener("input", list);
  at("sort").addEventListener("change", list);
  at("round").addEventListener("input", () => {
    now.round = Number(at("round").value);
    refresh();
    show();
  });
  at("round").addEventListener("change", list);
  refresh();
  list();
  choose(now.order[0]);
  root.removeAttribute("aria-busy");
})();
