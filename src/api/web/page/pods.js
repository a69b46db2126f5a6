// All pods and, beside them, everything about one: what it holds, why, and what happened to it.
import { call, podPath } from "./api.js";
import { eachFrame, el, fill, setText } from "./dom.js";
import { ago, bytes, clock, cores, percent } from "./format.js";
import { List } from "./list.js";
import { nameOf, store } from "./store.js";

const looks = { Running: "state good", Succeeded: "state", Pending: "state warn", Failed: "state bad" };

// What a person wants to know first: that it is ready, or why not.
export function stateOf(pod) {
  if (pod.phase === "Running") return pod.ready ? "Ready" : "Running";
  return pod.phase;
}

export function reasonOf(pod) {
  if (pod.reason) return pod.reason;
  return pod.containers.find((one) => one.state === "waiting" && one.reason)?.reason ?? "";
}

function cpusOf(pod) {
  const own = pod.containers.filter((one) => one.exclusive).map((one) => one.cpus);
  if (own.length > 0) return own.join(" ");
  const pools = [...new Set(pod.containers.map((one) => one.pool).filter(Boolean))];
  if (pools.length > 0) return pools.map((pool) => `CPU pool ${pool}`).join(", ");
  return pod.containers.some((one) => one.cpus) ? "shared" : "";
}

const nodesOf = (pod) => [...new Set(pod.containers.map((one) => one.memoryNodes).filter(Boolean))].join(" ");
const useOf = (pod) => store.use.get(nameOf(pod)) ?? {};
const restartsOf = (pod) => pod.containers.reduce((sum, one) => sum + one.restarts, 0);

const columns = [
  { title: "State", min: 82, text: stateOf, look: (pod) => looks[pod.phase] ?? "state" },
  { title: "Pod", min: 170, grow: 3, text: nameOf },
  { title: "Class", min: 90, rank: 3, text: (pod) => pod.qosClass },
  { title: "CPUs", min: 80, grow: 1, text: cpusOf },
  { title: "Nodes", min: 48, rank: 5, text: nodesOf },
  { title: "Cores", min: 46, rank: 1, right: true, text: (pod) => cores(useOf(pod).cores) },
  { title: "Memory", min: 66, rank: 1, right: true, text: (pod) => bytes(useOf(pod).memory) },
  { title: "Throttled", min: 64, rank: 2, right: true, text: (pod) => percent(useOf(pod).throttled) },
  { title: "Far away", min: 64, rank: 4, right: true, text: (pod) => bytes(useOf(pod).remote) },
  { title: "Restarts", min: 58, rank: 6, right: true, text: (pod) => String(restartsOf(pod) || "") },
  { title: "Reason", min: 130, grow: 1, text: reasonOf },
];

export function podsView(open, chosen) {
  const list = new List({ label: "Pods", columns, key: nameOf, open: (pod) => open(nameOf(pod)),
    empty: "No pod is like that." });
  const search = el("input", { type: "search", placeholder: "Filter by name, class or reason", "aria-label": "Filter pods",
    oninput: () => draw() });
  const phase = el("select", { "aria-label": "State", onchange: () => draw() },
    ["All states", "Running", "Pending", "Failed", "Succeeded"].map((one) => el("option", {}, one)));
  const said = el("span", { class: "dim", role: "status" });
  const details = el("aside", { class: "panel details", "aria-label": "About one pod", tabindex: -1 });
  const split = el("div", { class: "split" }, list.element, details);
  const element = el("div", {}, el("div", { class: "bar" }, el("h2", {}, "Pods"), search, phase, said), split);

  const draw = eachFrame(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const state = phase.selectedIndex === 0 ? "" : phase.value;
    const shown = store.sorted.filter((pod) => (!state || pod.phase === state) && (words.length === 0 || words.every((word) =>
      `${nameOf(pod)} ${pod.qosClass} ${reasonOf(pod)} ${stateOf(pod)}`.toLowerCase().includes(word))));
    setText(said, `${shown.length} of ${store.sorted.length}`);
    list.show(shown);
  });

  let at = null;
  async function show(name, byKey = false) {
    at = name;
    const pod = store.pods.get(name);
    split.classList.toggle("alone", !name);
    details.hidden = !name;
    list.choose(pod);
    if (!name) return;
    try {
      const all = await call(podPath(pod ?? split2(name)));
      if (at !== name) return;
      fill(details, aboutPod(all, () => open(null)));
    } catch (error) {
      if (at === name) fill(details, el("p", { class: "note" }, error.message));
    }
    if (byKey) details.focus();
  }

  const end = [store.on("pods machine stats", draw), store.on("pods", () => at && refresh())];
  let due = null;
  function refresh() {
    if (due) return;
    due = setTimeout(() => ((due = null), at && show(at)), 2000);
  }
  draw();
  show(chosen ?? null);
  return { element, show: (name) => show(name ?? null, true), end: () => (clearTimeout(due), end.forEach((one) => one())) };
}

function split2(name) {
  const at = name.indexOf("/");
  return { namespace: name.slice(0, at), name: name.slice(at + 1) };
}

const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== "" && value !== undefined && value !== null)
  .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

function aboutContainer(one) {
  const hint = one.hint ? `nodes ${one.hint.nodes || "any"}${one.hint.preferred ? ", preferred" : ", not preferred"}` : "";
  const devices = Object.entries(one.devices ?? {}).map(([name, list]) => `${name}: ${list.join(", ")}`).join("; ");
  const end = one.lastEnd ? `${one.lastEnd.reason} (${one.lastEnd.exitCode ?? "?"}) ${one.lastEnd.message}` : "";
  return [el("h3", {}, `${one.kind === "app" ? "Container" : one.kind === "init" ? "Init container" : "Sidecar"} ${one.name}`),
    facts([["State", `${one.state}${one.reason ? `, ${one.reason}` : ""}`], ["Message", one.message],
      ["CPUs", one.cpus ? `${one.cpus}${one.exclusive ? " alone" : one.pool ? ` of CPU pool ${one.pool}` : " with others"}` : ""], ["Memory nodes", one.memoryNodes],
      ["Alignment", hint], ["Devices", devices], ["Image", one.image], ["Restarts", one.restarts || ""], ["Last end", end],
      ["Cgroup", one.cgroup]])];
}

function aboutPod(pod, close) {
  const reason = reasonOf(pod);
  const out = [
    el("header", {}, el("h2", {}, nameOf(pod)), el("button", { class: "quiet", "aria-label": "Close", onclick: close }, "✕")),
    el("p", {}, el("span", { class: looks[pod.phase] ?? "state" }, stateOf(pod)),
      el("span", { class: "dim" }, `  ${pod.qosClass}${pod.admittedAt ? `, placed ${ago(pod.admittedAt)} ago` : ""}`)),
  ];
  if (reason) out.push(el("h3", {}, "Why it does not run as it should"), el("p", {}, el("strong", {}, reason)), el("p", {}, pod.message),
    el("ul", { class: "steps" }, pod.details.map((one) => el("li", {}, one))));
  out.push(el("h3", {}, "Asks for"), facts(Object.entries(pod.requests ?? {})));
  out.push(pod.containers.map(aboutContainer));
  out.push(el("p", { class: "bar" }, el("button", { onclick: () => {
    sessionStorage.setItem("what-if", JSON.stringify(pod.manifest, null, 2));
    location.hash = "#what-if";
  } }, "What if it asked for something else?")));
  if (store.changes) out.push(removal(pod));
  out.push(el("h3", {}, "Why it was decided so"), el("ol", { class: "steps" }, (pod.trace ?? []).map((step) =>
    el("li", {}, el("span", { class: "where" }, [step.stage, step.container, step.resource].filter(Boolean).join(" ")), step.text))));
  out.push(el("h3", {}, "What happened"), el("ol", { class: "steps" }, (pod.events ?? []).slice(-30).reverse().map((event) =>
    el("li", {}, el("span", { class: "where" }, `${clock(event.time)} ${event.reason}`), event.message))));
  return out;
}

function removal(pod) {
  const said = el("span", { class: "dim", role: "status" });
  let sure = false;
  const button = el("button", { class: "danger", onclick: async () => {
    if (!sure) {
      sure = true;
      return setText(button, "Remove its manifest: click again to do it");
    }
    button.disabled = true;
    try {
      await call(podPath(pod), { method: "DELETE" });
      setText(said, "Its manifest is removed; it ends.");
    } catch (error) {
      setText(said, error.message);
    }
  } }, "Remove this pod");
  return el("p", { class: "bar" }, button, said);
}
