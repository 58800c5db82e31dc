// The page of a trace. Texts of the session reach the document by textContent alone, never as markup. A list draws the
// rows that are seen; details lie in blocks of the page that are parsed when they are first asked for.
"use strict";

const ROW = 24; // pixels of a row, as in the style
const AROUND = 8; // rows drawn above and below what is seen
const SHOWN = 4000; // characters of a text before it is asked for whole
const PARTS = ["prefix", "words", "replies", "observations", "shortened"];
const FILTERS = {
  all: ["everything", () => true],
  steps: ["steps", (row) => row.number > 0],
  failed: ["failures", (row) => row.failed],
  words: ["what people said", (row) => row.kind === "prompt" || row.kind === "steer"],
  changes: ["changes", (row, detail) => (detail.calls || []).some((each) => each.diff || each.changed)],
  tests: ["tests", (row) => row.tests !== null],
  feedback: ["feedback", (row, detail) => row.kind === "feedback" || Boolean(detail.feedback)],
  window: ["compactions", (row) => row.kind === "compaction"],
  agents: ["agents and attempts", (row) => ["child", "attempt", "candidate", "choice", "merge", "finding"].includes(row.kind)],
  signals: ["signals and verdicts", (row) => ["signal", "error", "verdict", "verification", "end"].includes(row.kind)],
};

// ── Texts and amounts ────────────────────────────────────────────────────────────────────────────

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

function makeVisible(text) {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (each) => {
    const code = each.codePointAt(0);
    return code < 0xa0 ? "\\x" + code.toString(16).padStart(2, "0") : "<U+" + code.toString(16).toUpperCase().padStart(4, "0") + ">";
  });
}

function formatSeconds(seconds) {
  if (!seconds) return "";
  return seconds < 60 ? seconds.toFixed(1) + " s" : Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");
}

// Returns "" for none, and for a number that is no date: a damaged log may have any.
function formatTime(seconds) {
  const date = new Date((seconds || NaN) * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

function formatTokens(count) {
  if (!count) return "";
  return count < 1000 ? String(count) : count < 999950 ? (count / 1000).toFixed(1) + "k" : (count / 1e6).toFixed(1) + "M";
}

function formatCost(cost) {
  return cost === null || cost === undefined ? "" : "$" + cost.toFixed(cost >= 1 || cost === 0 ? 2 : 4);
}

function formatShare(usage) {
  return usage && usage.input && usage.cached ? Math.round((100 * usage.cached) / usage.input) + "%" : "";
}

// ── Rows ─────────────────────────────────────────────────────────────────────────────────────────

const NAMES = ["number", "event", "kind", "title", "time", "seconds", "failed", "off", "usage", "model", "parts", "tests"];

const USAGE = ["input", "cached", "output", "reasoning", "cost"];

function readRow(values) {
  const row = {};
  NAMES.forEach((name, index) => { row[name] = values[index]; });
  if (row.usage) row.usage = Object.fromEntries(USAGE.map((name, index) => [name, row.usage[index]]));
  return row;
}

// The columns of the list: heading, width, text of a row.
const COLUMNS = [
  ["step", "3rem", (row) => (row.number ? String(row.number) : "")],
  ["time", "4rem", (row, begin) => (row.time ? formatSeconds(row.time - begin) : "")],
  ["", "1fr", (row) => row.title],
  ["input", "3.6rem", (row) => formatTokens(row.usage && row.usage.input)],
  ["cache", "2.8rem", (row) => formatShare(row.usage)],
  ["output", "3.4rem", (row) => formatTokens(row.usage && row.usage.output)],
  ["cost", "4.2rem", (row) => formatCost(row.usage && row.usage.cost)],
  ["took", "3.6rem", (row) => formatSeconds(row.seconds)],
];

// Returns the rows [first, end) that a window of this height shows at this place.
function findSeen(top, height, count) {
  const first = Math.max(0, Math.floor(top / ROW) - AROUND);
  return [first, Math.min(count, Math.ceil((top + height) / ROW) + AROUND)];
}

// Returns the session and the place that an address names: #step-12, #e40, #SESSION.step-12.
function parseAddress(hash) {
  const found = /^#(?:([\w-]+)\.)?(?:step-(\d{1,9})|(e\d{1,9}))$/.exec(hash);
  return found ? { session: found[1] || "", step: found[2] ? Number(found[2]) : 0, event: found[3] || "" } : null;
}

function collectText(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return "";
  return Object.values(value).map(collectText).join("\n");
}

// Groups values into at most `most` columns, each with the largest of its values.
function groupColumns(values, most) {
  const size = Math.max(1, Math.ceil(values.length / most));
  const columns = [];
  for (let at = 0; at < values.length; at += size) {
    let best = values[at];
    for (let each = at + 1; each < Math.min(values.length, at + size); each += 1)
      if (values[each].sum > best.sum) best = values[each];
    columns.push(best);
  }
  return columns;
}

class Traced {
  constructor(about, place, parse) {
    this.about = about;
    this.place = place;
    this.parse = parse;
    this.rows = about.rows.map(readRow);
    this.blocks = new Map();
    this.changed = new Map(); // details that came while the session ran
    this.texts = [];
  }

  getDetail(index) {
    if (this.changed.has(index)) return this.changed.get(index);
    const block = Math.floor(index / this.about.block);
    if (!this.blocks.has(block)) this.blocks.set(block, this.parse(this.place, block) || []);
    return this.blocks.get(block)[index % this.about.block] || {};
  }

  getText(index) {
    if (this.texts[index] === undefined)
      this.texts[index] = (this.rows[index].title + "\n" + collectText(this.getDetail(index))).toLowerCase();
    return this.texts[index];
  }

  findFirstError() {
    const told = this.about.diagnosis && this.about.diagnosis.event;
    const found = told ? this.rows.findIndex((row) => row.event === told) : -1;
    return found >= 0 ? found : this.rows.findIndex((row) => row.failed && !row.off);
  }

  update(changes) {
    for (const [index, values, detail] of changes) {
      this.rows[index] = readRow(values);
      this.changed.set(index, detail);
      this.texts[index] = undefined;
    }
  }
}

// ── The document ─────────────────────────────────────────────────────────────────────────────────

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = makeVisible(String(text));
  if (name) element.className = name;
  return element;
}

function draw(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

class Page {
  constructor(data, parse) {
    this.data = data;
    this.parse = parse;
    this.sessions = data.sessions.map((about, place) => new Traced(about, place, parse));
    this.shown = this.sessions[0];
    this.found = [];
    this.chosen = -1;
    this.turn = 0; // of the search: an older one ends
    this.cursors = new Map(); // the row at which the keyboard stands, by title of a chart
    for (const [name, [label]] of Object.entries(FILTERS)) {
      const option = make("option", label);
      option.value = name;
      this.at("filter").append(option);
    }
    this.listen();
  }

  at(name) { return document.getElementById(name); }

  listen() {
    this.at("list").addEventListener("scroll", () => this.drawRows());
    window.addEventListener("resize", () => this.drawRows());
    window.addEventListener("hashchange", () => this.follow());
    window.addEventListener("beforeprint", () => this.drawRows(true));
    window.addEventListener("afterprint", () => this.drawRows());
    this.at("search").addEventListener("input", () => this.select());
    this.at("filter").addEventListener("change", () => this.select());
    this.at("first").addEventListener("click", () => this.chooseFirstError());
    this.at("help").addEventListener("click", () => this.toggleKeys());
    this.at("list").addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.index));
    });
    document.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
    if (event.key === "Escape") { this.at("list").focus(); return; }
    if (typing) {
      if (event.key !== "Enter") return;
      this.at("list").focus();
      if (this.found.length && !this.found.includes(this.chosen)) this.choose(this.found[0]);
      return;
    }
    const inList = document.activeElement === this.at("list") || document.activeElement === document.body;
    const at = this.found.indexOf(this.chosen);
    const page = Math.max(1, Math.floor(this.at("list").clientHeight / ROW) - 1);
    const moves = {
      j: at + 1, k: at - 1, ...(inList ? { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.found.length - 1, PageDown: at + page, PageUp: at - page } : {}),
    };
    if (event.key in moves) this.chooseFound(moves[event.key]);
    else if (event.key === "n" || event.key === "p") this.chooseFailure(event.key === "n" ? 1 : -1);
    else if (event.key === "e") this.chooseFirstError();
    else if (event.key === "/") this.at("search").focus();
    else if (event.key === "?") this.toggleKeys();
    else if (event.key === "Enter" && inList) this.at("detail").focus();
    else return;
    event.preventDefault();
  }

  toggleKeys() {
    this.at("keys").hidden = !this.at("keys").hidden;
    this.at("help").setAttribute("aria-expanded", String(!this.at("keys").hidden));
  }

  show(traced) {
    if (this.shown !== traced) this.cursors.clear();
    this.shown = traced;
    this.chosen = -1;
    const { facts, id, unread } = traced.about;
    this.at("title").textContent = makeVisible(facts.title || id);
    const started = formatTime(facts.started).replace("T", " ").replace(/\.\d+Z$/, " UTC");
    const sums = traced.rows.reduce((sum, row) => {
      if (row.usage) {
        sum.input += row.usage.input; sum.output += row.usage.output; sum.cached += row.usage.cached;
        if (row.usage.cost !== null) sum.cost = (sum.cost || 0) + row.usage.cost;
      }
      return sum;
    }, { input: 0, output: 0, cached: 0, cost: null });
    const told = [id, facts.model, facts.mode, started, formatTokens(sums.input) && formatTokens(sums.input) + " tokens in",
      formatShare(sums) && formatShare(sums) + " cached", formatTokens(sums.output) && formatTokens(sums.output) + " out",
      formatCost(sums.cost), unread ? unread + " lines could not be read" : "",
      this.data.cut ? "texts cut to " + this.data.cut.toLocaleString("en") + " characters" : "", this.data.live ? "followed" : ""];
    this.at("facts").textContent = makeVisible(told.filter(Boolean).join(" · "));
    const outcome = this.at("outcome");
    outcome.textContent = makeVisible(facts.outcome ? facts.outcome + " (exit code " + facts.exit_code + ")" : "not ended");
    outcome.className = facts.outcome ? (facts.exit_code ? "bad" : "good") : "soft";
    const cause = traced.about.diagnosis;
    if (cause) outcome.textContent += makeVisible(" · " + cause.kind + ": " + cause.reason);
    this.columns = COLUMNS.filter(([, , tell]) => traced.rows.some((row) => tell(row, 0)));
    this.at("heads").replaceChildren(...this.columns.map(([head]) => make("span", head)));
    document.documentElement.style.setProperty("--columns", this.columns.map(([, width]) => width).join(" "));
    this.drawTree();
    this.drawCharts();
    this.select();
  }

  // ── Search and filter ──

  select() {
    const turn = ++this.turn;
    const words = this.at("search").value.toLowerCase().trim();
    const accepts = FILTERS[this.at("filter").value][1];
    const { shown } = this;
    const needsDetail = accepts.length > 1;
    const found = [];
    let at = 0;
    const work = () => {
      if (turn !== this.turn) return;
      const until = performance.now() + 30;
      while (at < shown.rows.length && performance.now() < until) {
        const row = shown.rows[at];
        if (accepts(row, needsDetail ? shown.getDetail(at) : null) && (!words || shown.getText(at).includes(words))) found.push(at);
        at += 1;
      }
      this.found = found;
      const done = at >= shown.rows.length;
      this.at("count").textContent = found.length.toLocaleString("en") + " of " + shown.rows.length.toLocaleString("en") + (done ? "" : " …");
      this.drawRows();
      if (!done) setTimeout(work, 0);
    };
    work();
  }

  drawRows(all = false) {
    const list = this.at("list");
    const space = this.at("space");
    space.style.height = this.found.length * ROW + "px";
    const [first, end] = all ? [0, this.found.length] : findSeen(list.scrollTop, list.clientHeight || 600, this.found.length);
    const rows = [];
    const begin = this.shown.about.facts.started || 0;
    for (let place = first; place < end; place += 1) {
      const index = this.found[place];
      const row = this.shown.rows[index];
      const line = make("div", undefined, "row" + (row.failed ? " failed" : "") + (row.off ? " off" : ""));
      line.id = "row-" + index;
      line.dataset.index = String(index);
      line.setAttribute("role", "option");
      line.setAttribute("aria-selected", String(index === this.chosen));
      line.setAttribute("aria-setsize", String(this.found.length));
      line.setAttribute("aria-posinset", String(place + 1));
      line.style.top = place * ROW + "px";
      const what = make("span", undefined, "what");
      if (row.kind !== "step") what.append(make("span", row.kind + " ", "kind"));
      what.append(makeVisible(row.title));
      for (const [head, , tell] of this.columns) line.append(head ? make("span", tell(row, begin)) : what);
      rows.push(line);
    }
    space.replaceChildren(...rows);
    if (this.chosen >= 0 && this.at("row-" + this.chosen)) list.setAttribute("aria-activedescendant", "row-" + this.chosen);
    else list.removeAttribute("aria-activedescendant");
  }

  // ── Choosing a row ──

  chooseFound(place) {
    if (this.found.length) this.choose(this.found[Math.min(this.found.length - 1, Math.max(0, place))]);
  }

  chooseFailure(direction) {
    const { rows } = this.shown;
    for (let at = this.chosen + direction; at >= 0 && at < rows.length; at += direction)
      if (rows[at].failed && this.found.includes(at)) { this.choose(at); return; }
  }

  chooseFirstError() {
    const index = this.shown.findFirstError();
    if (index >= 0) this.choose(index);
  }

  choose(index) {
    const row = this.shown.rows[index];
    const name = row.number ? "step-" + row.number : row.event;
    const address = "#" + (this.shown.place ? this.shown.about.id + "." : "") + name;
    if (location.hash !== address) history.replaceState(null, "", address);
    this.open(index);
  }

  follow() {
    const address = parseAddress(location.hash);
    if (!address) return;
    const traced = address.session ? this.sessions.find((each) => each.about.id === address.session) : this.sessions[0];
    if (!traced) return;
    if (traced !== this.shown) this.show(traced);
    const index = traced.rows.findIndex((row) => (address.step ? row.number === address.step : row.event === address.event));
    if (index >= 0) this.open(index);
  }

  open(index) {
    if (!this.found.includes(index)) {
      this.at("search").value = "";
      this.at("filter").value = "all";
      this.turn += 1;
      this.found = this.shown.rows.map((_, each) => each);
      this.at("count").textContent = this.found.length.toLocaleString("en") + " of " + this.found.length.toLocaleString("en");
      this.at("space").style.height = this.found.length * ROW + "px";
    }
    this.chosen = index;
    const list = this.at("list");
    const top = this.found.indexOf(index) * ROW;
    if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
    this.drawRows();
    this.drawDetail();
    this.markCharts();
  }

  // ── Details ──

  drawDetail() {
    const place = this.at("detail");
    const row = this.shown.rows[this.chosen];
    if (!row) { place.replaceChildren(); return; }
    const detail = this.shown.getDetail(this.chosen);
    const parts = [make("h2", row.number ? "Step " + row.number : row.kind)];
    const facts = [row.event, row.model, formatTime(row.time), formatSeconds(row.seconds), detail.stop || "",
      detail.partial ? "interrupted" : "", detail.by ? "by " + detail.by : "", row.off ? "left by a rewind" : ""];
    parts.push(make("p", facts.filter(Boolean).join(" · "), "soft"));
    if (row.usage) {
      const { input, cached, output, reasoning, cost } = row.usage;
      parts.push(make("p", `${input.toLocaleString("en")} tokens in, ${cached.toLocaleString("en")} of them cached; ${output.toLocaleString("en")} out, ${reasoning.toLocaleString("en")} of them reasoning; ${formatCost(cost) || "price unknown"}`, "soft"));
    }
    if (row.parts) parts.push(make("p", "Window before it, tokens: " + PARTS.map((name, at) => name + " " + row.parts[at].toLocaleString("en")).join(", "), "soft"));
    const told = this.shown.about.diagnosis;
    if (told && told.event === row.event) {
      parts.push(make("h3", "First error: " + told.kind, "bad"), make("p", told.reason));
      for (const each of told.evidence) parts.push(make("p", each, "soft"));
    }
    for (const each of detail.signals || []) parts.push(make("h3", "Signal: " + each, "bad"));
    for (const each of detail.feedback || []) parts.push(make("h3", "Feedback: " + each, each.startsWith("good") ? "good" : "bad"));
    if (row.kind !== "step" && !detail.text) parts.push(make("p", row.title));
    if (detail.reasoning) parts.push(make("h3", "Reasoning"), this.makeText(detail.reasoning));
    if (detail.text) parts.push(this.makeText(detail.text));
    if (row.tests) parts.push(make("p", `Tests: ${row.tests[0]} passed, ${row.tests[1]} failed`, row.tests[1] ? "bad" : "good"));
    for (const name of ["outcome", "verification", "commit", "not_committed", "hint", "problem", "undoes"])
      if (detail[name]) parts.push(make("p", name.replace("_", " ") + ": " + detail[name]));
    for (const name of ["failing", "files", "masked"])
      if (detail[name] && detail[name].length) parts.push(make("h3", name), this.makeText(detail[name].join("\n")));
    if (detail.took !== undefined) parts.push(make("p", "It took " + detail.took.toLocaleString("en") + " tokens out of the window."));
    for (const fold of detail.folds || []) parts.push(make("h3", "In place of " + fold.span), this.makeText(fold.text));
    for (const call of detail.calls || []) parts.push(...this.makeCall(call));
    if (detail.child) {
      const traced = this.sessions.find((each) => each.about.id === detail.child);
      if (traced) parts.push(this.makeLink(traced, "Open its session"));
    }
    place.replaceChildren(...parts);
    place.scrollTop = 0;
  }

  makeCall(call) {
    const parts = [make("h3", call.tool + " " + (call.about || ""), call.failed || call.refused ? "bad" : "")];
    const facts = [call.effect, (call.paths || []).join(" "), call.exit !== undefined ? "exit " + call.exit : "", call.failed ? "failed" : "",
      formatSeconds(call.seconds), call.event, call.ref ? "whole output: " + call.ref : "", call.within ? "within " + call.within : ""];
    parts.push(make("p", facts.filter(Boolean).join(" · "), "soft"));
    for (const name of ["problem", "decision", "rule"]) if (call[name]) parts.push(make("p", name + ": " + call[name], "bad"));
    if (call.arguments && call.arguments !== "{}") parts.push(this.makeText(call.arguments));
    if (call.diff) parts.push(this.makeDiff(call.diff));
    if (call.changed) parts.push(make("p", "changed: " + call.changed.join(" ")));
    if (call.output) parts.push(this.makeText(call.output));
    return parts;
  }

  makeText(text) {
    const block = make("pre");
    const fill = (whole) => {
      block.replaceChildren(...this.markWords(makeVisible(whole ? text : text.slice(0, SHOWN))));
      if (!whole && text.length > SHOWN) {
        const more = make("button", "Show all " + text.length.toLocaleString("en") + " characters");
        more.type = "button";
        more.addEventListener("click", () => fill(true));
        block.append("\n", more);
      }
    };
    fill(false);
    return block;
  }

  // Returns the text as nodes, with what was searched for marked.
  markWords(text) {
    const words = this.at("search").value.toLowerCase().trim();
    const low = text.toLowerCase();
    if (!words || low.length !== text.length) return [text];
    const nodes = [];
    let from = 0;
    for (let at = low.indexOf(words); at >= 0 && nodes.length < 2000; at = low.indexOf(words, from)) {
      nodes.push(text.slice(from, at), make("mark", text.slice(at, at + words.length)));
      from = at + words.length;
    }
    nodes.push(text.slice(from));
    return nodes;
  }

  makeDiff(diff) {
    const block = make("pre");
    for (const line of diff.slice(0, 200000).split("\n"))
      block.append(make("span", line || " ", line[0] === "+" ? "add" : line[0] === "-" ? "del" : "same"));
    return block;
  }

  makeLink(traced, label) {
    const button = make("button", label);
    button.type = "button";
    button.setAttribute("aria-current", String(traced === this.shown));
    button.addEventListener("click", () => {
      history.replaceState(null, "", traced.place ? "#" + traced.about.id + ".step-1" : "#step-1");
      this.show(traced);
      this.at("detail").replaceChildren();
    });
    return button;
  }

  // ── Tree and charts ──

  drawTree() {
    const drawn = new Set();
    const build = (traced, label) => {
      drawn.add(traced.about.id);
      const item = make("li");
      item.append(label || this.makeLink(traced, traced.about.facts.title || traced.about.id));
      const below = make("ul");
      for (const branch of traced.about.branches) {
        const inner = this.sessions.find((each) => each.about.id === branch.child);
        const words = [branch.label, branch.outcome || "not ended", branch.chosen ? "chosen" : "", formatCost(branch.cost), formatSeconds(branch.seconds),
          ...(branch.verdicts || []).map((each) => each[0] + " " + each[1])].filter(Boolean).join(" · ");
        if (inner && !drawn.has(branch.child)) below.append(build(inner, this.makeLink(inner, words)));
        else below.append(make("li", words));
      }
      if (below.childNodes.length) item.append(below);
      return item;
    };
    const list = make("ul");
    list.append(build(this.sessions[0]));
    this.at("tree").replaceChildren(...(this.sessions[0].about.branches.length ? [list] : []));
  }

  drawCharts() {
    const rows = this.shown.rows.map((row, index) => ({ row, index }));
    const figures = [];
    const windows = rows.filter(({ row }) => row.parts && !row.off).map(({ row, index }) => ({ index, values: row.parts, sum: row.parts.reduce((a, b) => a + b, 0) }));
    const cuts = rows.filter(({ row }) => row.kind === "compaction" && !row.off).map(({ index }) => index);
    if (windows.length) figures.push(this.makeChart("Window, tokens before each step", windows, PARTS, cuts));
    const tests = rows.filter(({ row }) => row.tests && !row.off).map(({ row, index }) => ({ index, values: row.tests, sum: row.tests[0] + row.tests[1] }));
    if (tests.length) figures.push(this.makeChart("Tests of each run", tests, ["passed", "failing"], []));
    const took = rows.filter(({ row }) => row.number && row.seconds).map(({ row, index }) => ({ index, values: [row.seconds], sum: row.seconds }));
    if (took.length > 1) figures.push(this.makeChart("Seconds of each step", took, ["replies"], []));
    const focused = this.at("charts").contains(document.activeElement) ? document.activeElement.dataset.title : undefined;
    this.at("charts").replaceChildren(...figures);
    if (focused) this.at("charts").querySelector(`svg[data-title="${focused}"]`)?.focus({ preventScroll: true });
    this.markCharts();
  }

  makeChart(title, points, names, cuts) {
    const width = 360, height = 90;
    const columns = groupColumns(points, width / 2);
    const most = Math.max(1e-9, ...columns.map((each) => each.sum));
    const step = width / columns.length;
    const last = points[points.length - 1];
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "slider", tabindex: 0, "data-title": title,
      "aria-valuemin": 1, "aria-valuemax": columns.length, "aria-label": `${title}: ${points.length} values, at most ${formatAmount(most)}, last ${formatAmount(last.sum)}` });
    columns.forEach((point, at) => {
      let top = height;
      point.values.forEach((value, part) => {
        const size = (value / most) * (height - 4);
        top -= size;
        if (size > 0) picture.append(draw("rect", { x: at * step, y: top, width: Math.max(step - (step > 4 ? 1 : 0), 0.5), height: size, class: names[part] }));
      });
    });
    const find = (index) => { const at = columns.findIndex((each) => each.index >= index); return (at < 0 ? columns.length : at) * step; };
    for (const index of cuts) picture.append(draw("line", { x1: find(index), x2: find(index), y1: 0, y2: height, class: "cut" }));
    const here = draw("line", { y1: 0, y2: height, class: "here", visibility: "hidden" });
    picture.append(here);
    picture.findPlace = (index) => { here.setAttribute("x1", find(index)); here.setAttribute("x2", find(index)); here.setAttribute("visibility", "visible"); };
    const cursor = draw("line", { y1: 0, y2: height, class: "cursor" });
    picture.append(cursor);
    const move = (place) => {
      const at = Math.min(columns.length - 1, Math.max(0, place));
      const { index, sum } = columns[at];
      this.cursors.set(title, index);
      cursor.setAttribute("x1", (at + 0.5) * step);
      cursor.setAttribute("x2", (at + 0.5) * step);
      picture.setAttribute("aria-valuenow", String(at + 1));
      const row = this.shown.rows[index];
      picture.setAttribute("aria-valuetext", makeVisible(`${row.number ? "step " + row.number : row.title}: ${formatAmount(sum)}`));
      return at;
    };
    const findColumn = (index) => { const at = columns.findIndex((each) => each.index >= index); return at < 0 ? columns.length - 1 : at; };
    let place = move(this.cursors.has(title) ? findColumn(this.cursors.get(title)) : 0);
    picture.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = {
        ArrowLeft: place - 1, ArrowDown: place - 1, ArrowRight: place + 1, ArrowUp: place + 1,
        PageUp: place + 10, PageDown: place - 10, Home: 0, End: columns.length - 1,
      };
      if (event.key in moves) place = move(moves[event.key]);
      else if (event.key === "Enter" || event.key === " ") this.choose(columns[place].index);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    picture.addEventListener("click", (event) => {
      const at = Math.floor(((event.clientX - picture.getBoundingClientRect().left) / width) * columns.length);
      if (!columns[at]) return;
      place = move(at);
      this.choose(columns[at].index);
    });
    const figure = make("figure");
    const caption = make("figcaption");
    caption.append(make("b", title), ` up to ${formatAmount(most)} `);
    if (names.length > 1) names.forEach((name) => caption.append(make("span", name, "key " + name), " "));
    if (cuts.length) caption.append(make("span", cuts.length + " compactions (dashed)"));
    figure.append(caption, picture);
    return figure;
  }

  markCharts() {
    if (this.chosen >= 0) for (const each of document.querySelectorAll("#charts svg")) each.findPlace(this.chosen);
  }

  // ── A session that runs ──

  async followSession() {
    const token = new URLSearchParams(location.search).get("token") || "";
    for (;;) {
      await new Promise((done) => setTimeout(done, 1000));
      let news;
      try {
        const since = this.sessions.map((each) => each.about.id + ":" + each.about.revision).join(",");
        const answer = await fetch("rows?since=" + encodeURIComponent(since), { headers: { Authorization: "Bearer " + token } });
        if (!answer.ok) continue;
        news = await answer.json();
      } catch { continue; }
      this.takeNews(news);
    }
  }

  takeNews(news) {
    let mine = false;
    for (const { about, changes } of news.sessions) {
      let traced = this.sessions.find((each) => each.about.id === about.id);
      if (!traced) {
        traced = new Traced({ ...about, rows: [] }, this.sessions.length, this.parse);
        this.sessions.push(traced);
      }
      traced.about = { ...about, rows: [] };
      traced.update(changes);
      mine = mine || traced === this.shown;
    }
    if (!mine) { if (news.sessions.length) this.drawTree(); return; }
    const list = this.at("list");
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 2 * ROW;
    const { chosen } = this;
    const scrolled = this.at("detail").scrollTop;
    this.show(this.shown);
    this.chosen = chosen;
    if (chosen >= 0) { this.drawDetail(); this.at("detail").scrollTop = scrolled; this.markCharts(); }
    if (atEnd) list.scrollTop = list.scrollHeight;
    this.drawRows();
  }
}

function formatAmount(value) {
  return value < 1000 ? String(Math.round(value * 10) / 10) : formatTokens(Math.round(value));
}

function begin() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const parse = (place, block) => {
    const found = document.getElementById(`block-${place}-${block}`);
    return found ? JSON.parse(found.textContent) : null;
  };
  const page = new Page(data, parse);
  page.show(page.sessions[0]);
  page.follow();
  page.at("list").focus({ preventScroll: true });
  if (data.live) page.followSession();
  performance.mark("drawn");
}

if (typeof document !== "undefined") begin();
