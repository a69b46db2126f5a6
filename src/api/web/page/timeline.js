// The last hours, from the history of events: how much of what happened when; and the use since the page was opened.
import { call } from "./api.js";
import { eachFrame, el, setText } from "./dom.js";
import { bytes, clock, cores, count } from "./format.js";
import { eventColumns, openObject } from "./events.js";
import { List } from "./list.js";
import { store } from "./store.js";

const kLane = 30;
const kLeft = 170;
const kTop = 22;
const kMostLanes = 8;
const kBuckets = 96;
const hours = [1, 6, 24];

export function timelineView() {
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-roledescription": "timeline",
    "aria-label": "Events over time by reason; left and right go through it" });
  const said = el("p", { class: "dim", "aria-live": "polite" });
  const list = new List({ label: "Events of the chosen time", columns: eventColumns, key: (event) => event.time + event.message,
    open: openObject, empty: "Nothing happened then. Choose a bar above." });
  list.element.style.height = "19rem";
  const choice = el("select", { "aria-label": "How far back", onchange: () => load() },
    hours.map((one) => el("option", { value: one, selected: one === 6 }, `last ${one === 1 ? "hour" : `${one} hours`}`)));
  const use = el("canvas", { role: "img" });
  const useSaid = el("p", { class: "dim" });
  const box = el("div", { class: "time" }, canvas);
  const element = el("div", {},
    el("section", { class: "panel", "aria-labelledby": "time-title" },
      el("div", { class: "bar" }, el("h2", { id: "time-title" }, "What happened"), choice, el("button", { onclick: () => load() }, "Read again")),
      box, said),
    el("h3", {}, "Events of the chosen time"), list.element,
    el("h3", {}, "Use since this page was opened"), el("section", { class: "panel", "aria-label": "Use since this page was opened" }, use, useSaid));

  let events = [];
  let lanes = [];
  let from = 0;
  let step = 1;
  let at = -1;

  async function load() {
    const span = Number(choice.value) * 3_600_000;
    try {
      const answer = await call(`/v1/events?since=${choice.value}h&limit=5000`);
      events = answer.events;
      from = Date.now() - span;
      step = span / kBuckets;
      at = -1;
      sortIn();
      list.show(events.slice().reverse());
      setText(said, `${count(events.length, "event")}${answer.leftOut ? ", the newest only" : ""}. Choose a time to see what happened then.`);
      draw();
    } catch (error) {
      setText(said, error.message);
    }
  }

  const bucketOf = (event) => Math.min(kBuckets - 1, Math.max(0, Math.floor((Date.parse(event.time) - from) / step)));

  function sortIn() {
    const by_reason = new Map();
    for (const event of events) {
      const lane = by_reason.get(event.reason) ?? { reason: event.reason, warning: false, total: 0, counts: new Array(kBuckets).fill(0) };
      lane.warning ||= event.type === "Warning";
      lane.total += event.count;
      lane.counts[bucketOf(event)] += event.count;
      by_reason.set(event.reason, lane);
    }
    lanes = [...by_reason.values()].sort((a, b) => b.total - a.total);
    if (lanes.length > kMostLanes) {
      const rest = { reason: "others", warning: false, total: 0, counts: new Array(kBuckets).fill(0) };
      for (const lane of lanes.splice(kMostLanes - 1)) {
        rest.total += lane.total;
        lane.counts.forEach((one, bucket) => (rest.counts[bucket] += one));
      }
      lanes.push(rest);
    }
  }

  function prepare(target, width, height) {
    const scale = devicePixelRatio || 1;
    target.width = Math.ceil(width * scale);
    target.height = Math.ceil(height * scale);
    target.style.width = `${width}px`;
    target.style.height = `${height}px`;
    const to = target.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.font = '12px system-ui, "DejaVu Sans", sans-serif';
    const style = getComputedStyle(document.documentElement);
    return { to, color: (name) => style.getPropertyValue(`--${name}`).trim() };
  }

  const draw = eachFrame(() => {
    const width = Math.max(420, box.clientWidth);
    const height = kTop + Math.max(1, lanes.length) * kLane + 6;
    const { to, color } = prepare(canvas, width, height);
    const slot = (width - kLeft) / kBuckets;
    to.strokeStyle = color("line");
    to.fillStyle = color("dim");
    for (let mark = 0; mark <= 4; mark++) {
      const x = kLeft + ((width - kLeft) * mark) / 4;
      to.textAlign = mark === 4 ? "right" : mark === 0 ? "left" : "center";
      to.fillText(new Date(from + step * kBuckets * (mark / 4)).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false }), x, 12);
      to.beginPath();
      to.moveTo(x, kTop - 4);
      to.lineTo(x, height);
      to.stroke();
    }
    if (at >= 0) {
      to.fillStyle = color("chosen");
      to.fillRect(kLeft + at * slot, kTop - 4, slot, height - kTop);
    }
    lanes.forEach((lane, row) => {
      const base = kTop + (row + 1) * kLane - 4;
      const most = Math.max(...lane.counts);
      to.textAlign = "left";
      to.fillStyle = color("text");
      to.fillText(`${lane.warning ? "▲ " : ""}${lane.reason}`, 0, base - 5, kLeft - 50);
      to.textAlign = "right";
      to.fillStyle = color("dim");
      to.fillText(String(lane.total), kLeft - 12, base - 5);
      to.fillStyle = color(lane.warning ? "warn" : "accent");
      lane.counts.forEach((one, bucket) => {
        if (one === 0) return;
        const tall = Math.max(3, (kLane - 8) * (one / most));
        to.fillRect(kLeft + bucket * slot + 0.5, base - tall, Math.max(2, slot - 1), tall);
      });
      to.strokeStyle = color("line");
      to.beginPath();
      to.moveTo(kLeft, base + 0.5);
      to.lineTo(width, base + 0.5);
      to.stroke();
    });
  });

  function choose(bucket) {
    at = Math.max(0, Math.min(kBuckets - 1, bucket));
    const shown = events.filter((event) => bucketOf(event) === at);
    list.show(shown.reverse());
    setText(said, `${clock(from + at * step)} to ${clock(from + (at + 1) * step)}: ${count(shown.length, "event")}`);
    draw();
  }

  canvas.addEventListener("click", (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left - kLeft;
    if (x >= 0) choose(Math.floor((x / (canvas.clientWidth - kLeft)) * kBuckets));
  });
  canvas.addEventListener("keydown", (event) => {
    const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!sign) return;
    event.preventDefault();
    choose(at < 0 ? kBuckets - 1 : at + sign);
  });

  const drawUse = eachFrame(() => {
    const samples = store.samples;
    const width = Math.max(300, box.clientWidth);
    const { to, color } = prepare(use, width, 70);
    const most = Math.max(1, ...samples.map((one) => one.cores ?? 0));
    to.strokeStyle = color("accent");
    to.lineWidth = 1.5;
    to.beginPath();
    samples.forEach((one, place) => {
      const x = (width * place) / Math.max(1, samples.length - 1);
      to.lineTo(x, 64 - 58 * ((one.cores ?? 0) / most));
    });
    to.stroke();
    const last = samples.at(-1);
    const text = last?.cores !== undefined ? `${cores(last.cores) || "–"} cores and ${bytes(last.memory) || "–"} now; the highest was ${cores(most)} cores` : "Nothing is measured yet, or nothing can be on a machine that is only played.";
    setText(useSaid, text);
    use.setAttribute("aria-label", `CPU use: ${text}`);
  });

  const watch = new ResizeObserver(() => (draw(), drawUse()));
  watch.observe(box);
  const end = store.on("stats", drawUse);
  load();
  drawUse();
  return { element, end: () => (watch.disconnect(), end()) };
}
