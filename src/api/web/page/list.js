// A table of any length: only the rows that can be seen are elements, and they are used again while it scrolls.
import { eachFrame, el, setClass, setText } from "./dom.js";

const kRow = 32;
const kBeyond = 6; // rows above and below what can be seen
const kGap = 11; // pixels between cells, and beside them, as style.css has them
const kSide = 13;

// columns: [{title, min, grow, rank, right, text(item), look(item)}]: at least `min` pixels, a share of the rest by `grow`, and
// those of the highest `rank` are left out where there is no room for all. `open(item)`: a row was chosen.
export class List {
  items = [];
  rows = []; // elements in use, by place
  at = 0; // the row that has the focus, or would
  chosen = null; // key

  constructor({ label, columns, key, open, empty }) {
    Object.assign(this, { columns, key, open, empty });
    this.hidden = new Set(); // columns
    this.space = el("div", { class: "list-space", role: "presentation" });
    this.head = el("div", { class: "row head", role: "row", "aria-rowindex": 1 },
      columns.map((column) => el("span", { role: "columnheader", class: column.right ? "right" : "" }, column.title)));
    this.none = el("p", { class: "note", role: "presentation" });
    this.none.style.padding = "1rem";
    this.element = el("div", { class: "list", role: "grid", "aria-label": label, "aria-colcount": columns.length },
      this.head, this.space, this.none);
    this.draw = eachFrame(() => this.drawNow());
    this.element.addEventListener("scroll", this.draw, { passive: true });
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("click", (event) => this.onClick(event));
    this.element.addEventListener("focusin", (event) => (this.at = event.target.place ?? this.at));
    new ResizeObserver(() => (this.fit(), this.draw())).observe(this.element);
  }

  show(items) {
    this.items = items;
    this.at = Math.max(0, Math.min(this.at, items.length - 1));
    this.draw();
  }

  fit() {
    const room = this.element.clientWidth - 2 * kSide;
    const width = (columns) => columns.reduce((sum, column) => sum + column.min + kGap, -kGap);
    let shown = this.columns;
    for (let rank = 9; rank > 0 && width(shown) > room; rank--) shown = shown.filter((column) => (column.rank ?? 0) < rank);
    this.hidden = new Set(this.columns.filter((column) => !shown.includes(column)));
    this.template = shown.map((column) => (column.grow ? `minmax(${column.min}px, ${column.grow}fr)` : `${column.min}px`)).join(" ");
    for (const row of [this.head, ...this.rows]) this.fitRow(row);
  }

  fitRow(row) {
    row.style.gridTemplateColumns = this.template;
    this.columns.forEach((column, at) => (row.children[at].hidden = this.hidden.has(column)));
  }

  drawNow() {
    const height = this.element.clientHeight;
    this.space.style.height = `${this.items.length * kRow}px`;
    this.element.setAttribute("aria-rowcount", this.items.length + 1);
    setText(this.none, this.items.length === 0 ? this.empty : "");
    this.none.hidden = this.items.length > 0;
    const first = Math.max(0, Math.floor(this.element.scrollTop / kRow) - kBeyond);
    const last = Math.min(this.items.length, Math.ceil((this.element.scrollTop + height) / kRow) + kBeyond);
    // The row with the focus stays, wherever it is: else the focus would be lost.
    const focused = this.rows.find((row) => row === document.activeElement);
    while (this.rows.length < last - first) this.addRow();
    const free = this.rows.filter((row) => row !== focused);
    const shown = [];
    if (focused && focused.place < this.items.length) shown.push(focused.place), this.drawRow(focused, focused.place);
    for (let place = first; place < last; place++) if (!shown.includes(place)) this.drawRow(free.pop() ?? this.addRow(), place);
    for (const row of free) row.hidden = true;
    // Tab comes to the row that had the focus last, or to the first in sight.
    const top = Math.ceil(this.element.scrollTop / kRow);
    const tab = this.at >= top && this.at < last - kBeyond ? this.at : Math.min(top, last - 1);
    for (const row of this.rows) row.tabIndex = !row.hidden && row.place === tab ? 0 : -1;
  }

  addRow() {
    const row = el("div", { class: "row", role: "row", tabindex: -1 },
      this.columns.map((column) => el("span", { role: "gridcell", class: column.right ? "right num" : "" })));
    this.fitRow(row);
    this.rows.push(row);
    this.space.append(row);
    return row;
  }

  drawRow(row, place) {
    const item = this.items[place];
    row.hidden = false;
    if (row.place !== place) {
      row.place = place;
      row.style.top = `${place * kRow}px`;
      row.setAttribute("aria-rowindex", place + 2);
    }
    row.setAttribute("aria-selected", this.key(item) === this.chosen);
    this.columns.forEach((column, at) => {
      const cell = row.children[at];
      const text = column.text(item) ?? "";
      setText(cell, text);
      if (cell.title !== text) cell.title = text;
      if (column.look) setClass(cell, column.look(item));
    });
  }

  choose(item) {
    this.chosen = item ? this.key(item) : null;
    this.draw();
  }

  moveTo(place) {
    if (this.items.length === 0) return;
    this.at = Math.max(0, Math.min(place, this.items.length - 1));
    const top = this.at * kRow;
    const visible = this.element.clientHeight - 2 * kRow;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    if (top > this.element.scrollTop + visible) this.element.scrollTop = top - visible;
    document.activeElement.blur?.();
    this.drawNow();
    this.rows.find((row) => !row.hidden && row.place === this.at)?.focus({ preventScroll: true });
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / kRow) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      event.preventDefault();
      this.moveTo(this.at + moves[event.key]);
    } else if ((event.key === "Enter" || event.key === " ") && this.items[this.at]) {
      event.preventDefault();
      this.open?.(this.items[this.at]);
    }
  }

  onClick(event) {
    const row = event.target.closest(".row");
    if (!row || row === this.head || row.hidden) return;
    this.at = row.place;
    this.drawNow();
    this.open?.(this.items[row.place]);
  }
}
