// The machine as it is now: who runs where, and what is used.
import { el, setText } from "./dom.js";
import { bytes, cores, count, ids, percent } from "./format.js";
import { Map2D, usesOf } from "./map.js";
import { holders, store } from "./store.js";

const kMostHolders = 200; // in the list beside the map; the pods' own view has all

function tile(label) {
  const value = el("dd", { class: "value" }, "–");
  const more = el("dd", { class: "more" });
  const bar = el("span");
  const gauge = el("dd", { class: "gauge", hidden: true, "aria-hidden": "true" }, bar);
  return {
    element: el("div", { class: "tile" }, el("dt", {}, label), value, more, gauge),
    set(text, beside = "", part = undefined) {
      setText(value, text);
      setText(more, beside);
      gauge.hidden = part === undefined;
      bar.style.width = `${Math.round(100 * Math.max(0, Math.min(1, part ?? 0)))}%`;
    },
  };
}

export function machineView(open) {
  const tiles = { pods: tile("Pods"), exclusive: tile("CPUs given to pods alone"), cpu: tile("CPU in use"),
    memory: tile("Memory in use"), trouble: tile("Throttled pods") };
  const map = new Map2D({ label: "CPUs of the machine and who has them; arrow keys go from CPU to CPU", open });
  const source = el("span", { class: "dim" });
  const list = el("ul", { class: "holders" });
  const beside = el("p", { class: "note" });
  const element = el("div", {},
    el("dl", { class: "tiles" }, Object.values(tiles).map((one) => one.element)),
    el("div", { class: "split" },
      el("section", { class: "panel", "aria-labelledby": "map-title" },
        el("div", { class: "bar" }, el("h2", { id: "map-title" }, "Machine"), source), map.element,
        el("ul", { class: "key", "aria-label": "Key" },
          el("li", {}, el("span", { class: "chip p1", "aria-hidden": "true" }, "A"), "one pod's alone, by its letter"),
          el("li", {}, el("span", { class: "chip shared", "aria-hidden": "true" }), "shared pool"),
          el("li", {}, el("span", { class: "chip reserved", "aria-hidden": "true" }, "#"), "reserved for the system"),
          el("li", {}, el("span", { class: "chip offline", "aria-hidden": "true" }), "offline or idle"))),
      el("section", { class: "panel", "aria-labelledby": "holders-title" },
        el("h2", { id: "holders-title" }, "Who has CPUs alone"), beside, list)));

  let known = [];
  function drawPods() {
    if (!store.machine || !store.node) return;
    known = holders();
    map.uses = usesOf(store.machine, store.node, known, store.shared);
    map.draw();
    setText(source, store.machine.source);
    const states = { running: 0, refused: 0 };
    for (const pod of store.sorted) {
      if (pod.phase === "Running") states.running++;
      if (pod.phase === "Failed") states.refused++;
    }
    const waiting = store.sorted.length - states.running - states.refused;
    tiles.pods.set(String(store.sorted.length), [[states.running, "run"], [waiting, "wait or are done"], [states.refused, "failed"]]
      .filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`).join(", "));
    const all = ids(store.node.allCpus).length;
    const own = new Set(known.flatMap((holder) => holder.cpus)).size;
    tiles.exclusive.set(`${own} of ${all}`, `${all - own} for everybody else`, own / all);
    beside.hidden = known.length > 0 && known.length <= kMostHolders;
    setText(beside, known.length === 0 ? "Nobody: all pods share one pool." : known.length > kMostHolders
      ? `The first ${kMostHolders} of ${known.length}; Pods has all.` : "");
    drawHolders();
  }

  function drawHolders() {
    const shown = known.slice(0, kMostHolders);
    while (list.children.length > shown.length) list.lastChild.remove();
    shown.forEach((holder, at) => {
      const row = list.children[at] ?? addHolder();
      const use = store.use.get(holder.name);
      const [chip, name, cpus, more] = row.firstChild.children;
      row.shown = holder.name;
      row.opens = holder.opens;
      chip.className = `chip p${holder.color}`;
      setText(chip, holder.letter);
      setText(name, holder.name);
      name.title = holder.name;
      setText(cpus, count(holder.cpus.length, "CPU"));
      setText(more, use?.cores === undefined ? "" : `${cores(use.cores)} in use` +
        (use.throttled ? `, throttled ${percent(use.throttled)}` : "") + (use.remote ? `, ${bytes(use.remote)} far away` : ""));
    });
  }

  function addHolder() {
    const more = el("span", { class: "dim num" });
    more.style.gridColumn = "2 / -1";
    const row = el("li", {}, el("button", {
      onclick: () => open(row.opens),
      onpointerenter: () => light(row.shown), onfocus: () => light(row.shown),
      onpointerleave: () => light(null), onblur: () => light(null) },
      el("span", { class: "chip" }), el("span", { class: "name" }), el("span", { class: "num" }), more));
    list.append(row);
    return row;
  }

  function light(name) {
    map.chosen = new Set(known.find((holder) => holder.name === name)?.cpus);
    map.draw();
  }

  function drawStats() {
    const stats = store.stats;
    if (!stats || !store.node) return;
    const all = ids(store.node.allCpus).length;
    const nano = stats.cpu?.usageNanoCores;
    tiles.cpu.set(nano === undefined ? "–" : `${cores(nano / 1e9)} cores`, `of ${all}`, nano === undefined ? undefined : nano / 1e9 / all);
    const [used, left] = [stats.memory?.workingSetBytes, stats.memory?.availableBytes];
    tiles.memory.set(used === undefined ? "–" : bytes(used), left === undefined ? "" : `${bytes(left)} left`,
      left === undefined ? undefined : used / (used + left));
    let held = 0;
    let remote = 0;
    for (const use of store.use.values()) {
      if (use.throttled > 0) held++;
      remote += use.remote ?? 0;
    }
    tiles.trouble.set(String(held), remote > 0 ? `${bytes(remote)} of memory on far nodes` : "no memory on far nodes");
    map.busy = new Map(Object.entries(stats.cpu?.perCpu ?? {})
      .filter(([, one]) => one.usageNanoCores !== undefined)
      .map(([cpu, one]) => [Number(cpu), one.usageNanoCores / 1e9]));
    map.memory = new Map(Object.entries(stats.numa ?? {}).map(([node, one]) =>
      [Number(node), `${bytes(one.totalBytes)}, ${bytes(one.freeBytes)} free`]));
    map.draw();
    drawHolders();
  }

  const end = [store.on("machine", () => map.setMachine(store.machine)), store.on("pods machine", drawPods),
    store.on("stats", drawStats)];
  if (store.machine) map.setMachine(store.machine);
  drawPods();
  drawStats();
  return { element, end: () => end.forEach((one) => one()) };
}
