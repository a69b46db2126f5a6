// What happened, the newest first, as it happens.
import { eachFrame, el, setText } from "./dom.js";
import { clock } from "./format.js";
import { List } from "./list.js";
import { store } from "./store.js";

export const eventColumns = [
  { title: "Time", min: 66, text: (event) => clock(event.time) },
  { title: "Type", min: 84, text: (event) => event.type, look: (event) => (event.type === "Warning" ? "state warn" : "state") },
  { title: "Reason", min: 170, text: (event) => event.reason },
  { title: "Of", min: 170, grow: 1, rank: 1, text: (event) => event.object },
  { title: "Message", min: 200, grow: 3, text: (event) => event.message },
  { title: "Times", min: 44, rank: 2, right: true, text: (event) => (event.count > 1 ? String(event.count) : "") },
];

const keyOf = (event) => `${event.time} ${event.reason} ${event.object} ${event.message}`;

export function openObject(event) {
  if (event.object.startsWith("pod/")) location.hash = `#pods/${encodeURIComponent(event.object.slice(4))}`;
}

export function eventsView() {
  const list = new List({ label: "Events", columns: eventColumns, key: keyOf, open: openObject, empty: "Nothing like that happened." });
  const search = el("input", { type: "search", placeholder: "Filter by any word", "aria-label": "Filter events", oninput: () => draw() });
  const warnings = el("input", { type: "checkbox", id: "warnings", onchange: () => draw() });
  const said = el("span", { class: "dim", role: "status" });
  const element = el("div", {}, el("div", { class: "bar" }, el("h2", {}, "Events"), search,
    el("span", {}, warnings, " ", el("label", { for: "warnings" }, "only warnings")), said), list.element);

  const draw = eachFrame(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = store.events.filter((event) => (!warnings.checked || event.type === "Warning") &&
      (words.length === 0 || words.every((word) => `${event.reason} ${event.object} ${event.message}`.toLowerCase().includes(word))));
    setText(said, `${shown.length} of ${store.events.length}`);
    list.show(shown);
  });
  const end = store.on("events", draw);
  draw();
  return { element, end };
}
