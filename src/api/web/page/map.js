// The machine as a drawing: sockets, memory nodes, L3 groups, cores, threads below each other, and who has them.
import { eachFrame, el, setText } from "./dom.js";
import { bytes, ids } from "./format.js";

const kColors = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8f8f8f"];
const kLightOn = [false, false, true, false, true, true, false, false];
const kPad = 10;
const kLine = 17;
const kMostColumns = 16;

// What every CPU is: Map from id to {use, holder}. `use`: exclusive, shared, reserved, idle, offline.
export function usesOf(machine, node, holders, shared) {
  const reserved = new Set(ids(node.reservedCpus));
  const online = new Set(ids(node.allCpus));
  const pool = shared ? new Set(ids(shared)) : null;
  const out = new Map();
  for (const numa of machine.nodes)
    for (const core of numa.cores)
      for (const cpu of core.threads) {
        const use = !online.has(cpu) ? "offline" : reserved.has(cpu) ? "reserved" : !pool || pool.has(cpu) ? "shared" : "idle";
        out.set(cpu, { use });
      }
  for (const holder of holders)
    for (const cpu of holder.cpus) if (out.has(cpu)) out.set(cpu, { use: "exclusive", holder });
  return out;
}

// Where everything is drawn, for a width: {width, height, boxes, texts, cells}. Cells have x, y, w, h, cpu, core, node, column.
// Cells are as wide as they can be with all of a socket side by side; where they cannot, nodes go on below.
export function arrange(machine, width) {
  const cpus = machine.nodes.reduce((sum, node) => sum + node.cores.reduce((n, core) => n + core.threads.length, 0), 0);
  const least = cpus <= 64 ? { w: 36, h: 26 } : cpus <= 256 ? { w: 28, h: 20 } : cpus <= 512 ? { w: 18, h: 16 } : { w: 14, h: 13 };
  const plan = arrangeCells(machine, width, least, cpus);
  for (let w = cpus <= 256 ? 64 : 26; w > least.w; w -= 2) {
    const wider = arrangeCells(machine, width, { ...least, w }, cpus);
    if (wider.width <= width && wider.height <= plan.height) return wider;
  }
  return plan;
}

function arrangeCells(machine, width, size, cpus) {
  const out = { boxes: [], texts: [], cells: [], size, numbers: cpus <= 256, width: 0, height: 0 };
  const sockets = new Map();
  const first = (node) => node.cores[0]?.socket ?? Infinity;
  for (const node of machine.nodes.toSorted((a, b) => (first(a) === first(b) ? a.id - b.id : first(a) - first(b)))) {
    const socket = node.cores[0]?.socket ?? -1;
    if (!sockets.has(socket)) sockets.set(socket, []);
    sockets.get(socket).push(node);
  }
  const l3 = new Map();
  for (const group of machine.l3 ?? []) for (const cpu of ids(group.cpus)) l3.set(cpu, group.id);
  let y = 0;
  for (const [socket, nodes] of sockets) {
    const box = { kind: "socket", x: 0, y, w: 0, h: 0 };
    out.boxes.push(box);
    out.texts.push({ x: kPad, y: y + kPad + 10, text: socket < 0 ? "Memory without CPUs" : `Socket ${socket}`, bold: true });
    let x = kPad;
    let top = y + kPad + kLine;
    let bottom = top;
    for (const node of nodes) {
      const piece = nodePiece(node, l3, size);
      if (x > kPad && x + piece.w + kPad > width) {
        x = kPad;
        top = bottom + kPad;
      }
      place(piece, x, top, out);
      bottom = Math.max(bottom, top + piece.h);
      x += piece.w + kPad;
      box.w = Math.max(box.w, x);
    }
    box.h = bottom + kPad - y;
    y = bottom + kPad + 12;
    out.width = Math.max(out.width, box.w);
  }
  for (const box of out.boxes) if (box.kind === "socket") box.w = out.width;
  out.height = Math.max(y - 12, 0);
  return out;
}

function nodePiece(node, l3, size) {
  const groups = new Map();
  for (const core of node.cores) {
    const group = l3.get(core.threads[0]) ?? -1;
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(core);
  }
  const piece = { node, w: 0, h: 0, cells: [], boxes: [] };
  let x = kPad;
  const top = kPad + 2 * kLine;
  for (const cores of groups.values()) {
    const columns = Math.min(kMostColumns, cores.length);
    let row = top;
    for (let from = 0; from < cores.length; from += columns) {
      const part = cores.slice(from, from + columns);
      part.forEach((core, column) => core.threads.forEach((cpu, thread) => piece.cells.push({
        cpu, core: core.coreId, node: node.id, x: x + column * (size.w + 2), y: row + thread * (size.h + 1),
        w: size.w, h: size.h })));
      row += Math.max(...part.map((core) => core.threads.length)) * (size.h + 1) + 4;
    }
    piece.h = Math.max(piece.h, row);
    x += columns * (size.w + 2) + 8;
  }
  piece.w = Math.max(x, 120);
  piece.h = Math.max(piece.h, top) + kPad - 4;
  return piece;
}

function place(piece, x, y, out) {
  out.boxes.push({ kind: "node", id: piece.node.id, x, y, w: piece.w, h: piece.h });
  out.texts.push({ x: x + kPad, y: y + kPad + 9, text: `Node ${piece.node.id}`, bold: true });
  out.texts.push({ x: x + kPad, y: y + kPad + 9 + kLine, text: bytes(piece.node.memory), node: piece.node.id });
  for (const cell of piece.cells) out.cells.push({ ...cell, x: cell.x + x, y: cell.y + y });
}

// A canvas that shows it, with what a CPU is for whoever points at it or goes there by keys.
export class Map2D {
  uses = new Map();
  busy = new Map(); // of CPUs, 0 to 1
  memory = new Map(); // of nodes: text
  chosen = new Set(); // CPUs
  at = -1; // cell that has the keyboard's attention

  constructor({ label, open }) {
    this.open = open;
    this.canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": label, "aria-roledescription": "map of CPUs" });
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.said = el("p", { class: "hidden-text", "aria-live": "polite" });
    this.scroll = el("div", { class: "map-scroll" }, this.canvas);
    this.element = el("div", { class: "map" }, this.scroll, this.tip, this.said);
    this.draw = eachFrame(() => this.drawNow());
    this.element.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    this.element.addEventListener("pointerleave", () => this.point(-1));
    this.canvas.addEventListener("click", (event) => this.choose(this.cellAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("blur", () => this.point(-1));
    new ResizeObserver(() => this.arrange()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.draw);
  }

  setMachine(machine) {
    this.machine = machine;
    this.arrange();
  }

  arrange() {
    const width = this.element.clientWidth;
    if (!this.machine || width === 0) return;
    this.plan = arrange(this.machine, width);
    this.draw();
  }

  drawNow() {
    const { plan, canvas } = this;
    if (!plan) return;
    const scale = devicePixelRatio || 1;
    const [width, height] = [Math.ceil(plan.width * scale), Math.ceil(plan.height * scale)];
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      canvas.style.width = `${plan.width}px`;
      canvas.style.height = `${plan.height}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries(["panel", "soft", "line", "text", "dim", "shared", "reserved", "idle", "offline",
      "cell-line", "busy", "focus"].map((name) => [name, color(name)]));
    const to = canvas.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.clearRect(0, 0, plan.width, plan.height);
    this.drawBoxes(to);
    for (let at = 0; at < plan.cells.length; at++) this.drawCell(to, plan.cells[at], at === this.at);
  }

  drawBoxes(to) {
    const { colors, plan } = this;
    for (const box of plan.boxes) {
      to.fillStyle = box.kind === "socket" ? colors.panel : colors.soft;
      to.strokeStyle = colors.line;
      to.beginPath();
      to.roundRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1, 7);
      to.fill();
      to.stroke();
    }
    to.textAlign = "left";
    for (const text of plan.texts) {
      to.font = `${text.bold ? "600 " : ""}12px system-ui, "DejaVu Sans", sans-serif`;
      to.fillStyle = text.bold ? colors.text : colors.dim;
      to.fillText(this.memory.get(text.node) ?? text.text, text.x, text.y);
    }
  }

  drawCell(to, cell, attended) {
    const { colors, plan } = this;
    const { use, holder } = this.uses.get(cell.cpu) ?? { use: "offline" };
    to.fillStyle = holder ? kColors[holder.color] : colors[use] || colors.idle;
    to.fillRect(cell.x, cell.y, cell.w, cell.h);
    const busy = this.busy.get(cell.cpu);
    if (busy > 0.01) {
      to.globalAlpha = 0.55;
      to.fillStyle = holder && !kLightOn[holder.color] ? "#000000" : holder ? "#ffffff" : colors.busy;
      to.fillRect(cell.x, cell.y + cell.h - 3, Math.max(1, cell.w * Math.min(1, busy)), 3);
      to.globalAlpha = 1;
    }
    to.strokeStyle = this.chosen.has(cell.cpu) ? colors.text : colors["cell-line"];
    to.lineWidth = this.chosen.has(cell.cpu) ? 2 : 0.5;
    to.setLineDash(use === "offline" ? [2, 2] : []);
    to.strokeRect(cell.x + 0.5, cell.y + 0.5, cell.w - 1, cell.h - 1);
    to.setLineDash([]);
    const on = holder ? (kLightOn[holder.color] ? "#ffffff" : "#000000") : colors.dim;
    to.fillStyle = on;
    if (plan.numbers) {
      to.font = "10px system-ui, \"DejaVu Sans\", sans-serif";
      to.textAlign = "left";
      to.fillText(String(cell.cpu), cell.x + 3, cell.y + 11);
    }
    const letter = holder?.letter ?? (use === "reserved" ? "#" : "");
    if (letter && cell.w > 9 * letter.length) {
      to.font = "700 10px system-ui, \"DejaVu Sans\", sans-serif";
      to.textAlign = plan.numbers ? "right" : "center";
      to.fillText(letter, plan.numbers ? cell.x + cell.w - 4 : cell.x + cell.w / 2, cell.y + (plan.numbers ? 11 : cell.h / 2 + 4));
    }
    if (attended) {
      to.strokeStyle = colors.focus;
      to.lineWidth = 2.5;
      to.strokeRect(cell.x - 1, cell.y - 1, cell.w + 2, cell.h + 2);
    }
  }

  cellAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    return this.plan?.cells.findIndex((one) => x >= one.x && x < one.x + one.w + 1 && y >= one.y && y < one.y + one.h + 1) ?? -1;
  }

  describe(cell) {
    const { use, holder } = this.uses.get(cell.cpu) ?? { use: "offline" };
    const words = { shared: "shared pool", reserved: "reserved for the system", idle: "idle", offline: "offline" };
    const busy = this.busy.get(cell.cpu);
    return `CPU ${cell.cpu}, core ${cell.core}, node ${cell.node}: ${holder ? holder.name : words[use]}` +
      (busy === undefined ? "" : `, ${Math.round(busy * 100)} % busy`);
  }

  point(at) {
    const cell = this.plan?.cells[at];
    if (this.at !== at) {
      this.at = cell ? at : -1;
      this.draw();
    }
    this.tip.hidden = !cell;
    if (!cell) return;
    setText(this.tip, this.describe(cell));
    this.tip.style.left = `${Math.max(0, Math.min(cell.x - this.scroll.scrollLeft, this.element.clientWidth - 260))}px`;
    this.tip.style.top = `${cell.y + cell.h + 6}px`;
  }

  choose(at) {
    const holder = this.uses.get(this.plan?.cells[at]?.cpu)?.holder;
    if (holder?.opens) this.open?.(holder.opens);
  }

  onKey(event) {
    const cells = this.plan?.cells ?? [];
    if (cells.length === 0) return;
    if (event.key === "Enter" && this.at >= 0) return this.choose(this.at);
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    this.point(this.step(cells, event.key));
    setText(this.said, this.describe(cells[this.at]));
  }

  step(cells, key) {
    if (this.at < 0 || key === "Home") return 0;
    if (key === "End") return cells.length - 1;
    const from = cells[this.at];
    const sideways = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = this.at;
    let least = Infinity;
    cells.forEach((to, at) => {
      const [along, across] = sideways ? [to.x - from.x, to.y - from.y] : [to.y - from.y, to.x - from.x];
      if (along * sign <= 0 || (sideways && across !== 0)) return;
      const distance = Math.abs(along) + 3 * Math.abs(across);
      if (distance < least) [least, best] = [distance, at];
    });
    return best;
  }
}
