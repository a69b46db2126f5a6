// What if: a pod that is not there. Where it would go, or why nowhere, what is the nearest that fits, and whom it would
// take; and the same under other policies, side by side. Nothing is taken.
import { call } from "./api.js";
import { el, fill, setText } from "./dom.js";
import { count, ids } from "./format.js";
import { Map2D, usesOf } from "./map.js";
import { holders, store } from "./store.js";

const kLargest = 1 << 20; // of a manifest

const policies = [
  { name: "this node's own", query: "" },
  { name: "none", query: "topologyManagerPolicy=none" },
  { name: "best-effort", query: "topologyManagerPolicy=best-effort" },
  { name: "restricted", query: "topologyManagerPolicy=restricted" },
  { name: "single-numa-node", query: "topologyManagerPolicy=single-numa-node&topologyManagerScope=container" },
  { name: "single-numa-node, scope pod", query: "topologyManagerPolicy=single-numa-node&topologyManagerScope=pod" },
  { name: "restricted, whole cores", query: "topologyManagerPolicy=restricted&cpuManagerPolicyOptions=full-pcpus-only" },
  { name: "restricted, spread over nodes", query: "topologyManagerPolicy=restricted&cpuManagerPolicyOptions=distribute-cpus-across-numa" },
];

const example = (cpu, memory, name) => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
spec:
  containers:
  - name: app
    image: example
    resources:
      limits:
        cpu: "${cpu}"
        memory: ${memory}
`;

// "app: CPUs 2-5, node 0" for each container.
function placesOf(outlook) {
  return outlook.decision.pod.placements.map((one) => `${one.container}: ${one.cpus ? `CPUs ${one.cpus}` : one.pool ? `CPU pool ${one.pool}` : "shared pool"}` +
    (one.hint?.nodes ? `, node${one.hint.nodes.length > 1 ? "s" : ""} ${one.hint.nodes}${one.hint.preferred ? "" : " (not preferred)"}` : "") +
    one.devices.map((device) => `, ${device.resource}`).join(""));
}

const changesOf = (nearest) => nearest.changes.map((one) => `${one.container ? `${one.container} ` : ""}${one.resource} ${one.from} → ${one.to}`);

export function whatIfView() {
  const text = el("textarea", { spellcheck: "false", "aria-label": "Manifest of one pod", "aria-describedby": "drop" });
  const name = el("input", { value: "what-if" });
  const cpu = el("input", { value: "4" });
  const memory = el("input", { value: "1Gi" });
  const said = el("p", { class: "dim", role: "status" });
  const answer = el("div");
  const map = new Map2D({ label: "Where it would go" });
  const mapBox = el("div", { hidden: true }, el("h3", {}, "Where it would go"), map.element);
  const table = el("tbody");
  const compared = el("div", { hidden: true }, el("h3", {}, "The same under other policies"), el("table", {},
    el("thead", {}, el("tr", {}, ["Topology policy", "Answer", "Where, or why not", "Nearest that fits", "Would take the place of"]
      .map((one) => el("th", { scope: "col" }, one)))), table));
  const ask = el("button", { class: "main", onclick: () => explain() }, "Where would it go?");
  const compare = el("button", { onclick: () => compareAll() }, "Compare policies");
  const apply = el("button", { class: "danger", hidden: !store.changes, onclick: () => applyIt() }, "Apply");

  const write = () => (text.value = example(cpu.value, memory.value, name.value));
  for (const input of [name, cpu, memory]) input.addEventListener("input", write);
  text.value = sessionStorage.getItem("what-if") ?? example("4", "1Gi", "what-if");
  text.addEventListener("input", () => sessionStorage.setItem("what-if", text.value));
  text.addEventListener("dragover", (event) => (event.preventDefault(), text.classList.add("over")));
  text.addEventListener("dragleave", () => text.classList.remove("over"));
  text.addEventListener("drop", (event) => {
    event.preventDefault();
    text.classList.remove("over");
    takeFile(event.dataTransfer.files[0]);
  });
  const file = el("input", { type: "file", "aria-label": "Open a manifest", onchange: () => takeFile(file.files[0]) });

  async function takeFile(dropped) {
    if (!dropped) return;
    if (dropped.size > kLargest) return setText(said, "That file is larger than 1 MiB.");
    text.value = await dropped.text();
    sessionStorage.setItem("what-if", text.value);
    explain();
  }

  const element = el("div", { class: "whatif" },
    el("section", { class: "panel", "aria-labelledby": "ask-title" },
      el("h2", { id: "ask-title" }, "What if"), el("p", { class: "dim", id: "drop" }, "Say what a pod would ask for, or paste or drop its manifest. Nothing is taken."),
      el("h3", {}, "Requests"),
      el("div", { class: "fields" }, el("label", {}, "Name", name), el("label", {}, "CPUs", cpu), el("label", {}, "Memory", memory)),
      text, el("div", { class: "bar" }, file), el("div", { class: "bar" }, ask, compare, apply), said),
    el("section", { class: "panel", "aria-label": "Answer" }, answer, mapBox, compared));
  fill(answer, el("p", { class: "note" }, "Ask, and the answer is here: the node's own engine decides, on the books as they are now."));

  const asked = (query) => call(`/v1/explain${query ? `?${query}` : ""}`, { method: "POST", body: text.value });

  async function explain() {
    ask.disabled = true;
    setText(said, "It is being decided…");
    try {
      const outlook = await asked("");
      setText(said, "");
      showAnswer(outlook);
    } catch (error) {
      setText(said, error.message);
    }
    ask.disabled = false;
  }

  function showAnswer(outlook) {
    const { decision } = outlook;
    const wait = outlook.wait ? el("p", {}, `${outlook.wait.reason}: ${outlook.wait.message}`) : null;
    const notes = (outlook.notes ?? []).map((note) => el("p", { class: "note" }, note));
    const steps = el("details", {}, el("summary", {}, "Why, step by step"), el("ol", { class: "steps" }, outlook.trace.map((step) =>
      el("li", {}, el("span", { class: "where" }, [step.stage, step.container, step.resource].filter(Boolean).join(" ")), step.text))));
    if (decision.admitted) {
      fill(answer, el("p", { class: "verdict" }, el("strong", { class: outlook.wait ? "warn" : "good" }, outlook.wait ? "It waits" : "It fits"),
        el("span", { class: "dim" }, `${outlook.pod}, ${outlook.qosClass}`)),
        wait, el("ul", { class: "steps" }, placesOf(outlook).map((one) => el("li", {}, one))), notes, steps);
      showPlace(decision.pod.placements.flatMap((one) => ids(one.cpus)));
      return;
    }
    mapBox.hidden = true;
    fill(answer, el("p", { class: "verdict" }, el("strong", { class: wait ? "warn" : "bad" }, wait ? "It waits" : "It does not fit"),
      el("span", { class: "dim" }, `${outlook.pod}, ${outlook.qosClass}`)),
      el("p", {}, `${decision.reason}: ${decision.message}`), wait,
      el("ul", { class: "steps" }, decision.details.map((one) => el("li", {}, one))),
      ofTheEngine(outlook) ? [nearest(outlook), removal(outlook)] : null, whoHolds(outlook), notes, steps);
  }

  // The engine says no, and what it would take; else a rule of the node, or a pod that comes first.
  function ofTheEngine(outlook) {
    return outlook.trace.length > 0 && outlook.decision.reason !== "OthersComeFirst";
  }

  function nearest(outlook) {
    if (!outlook.nearest) return [el("h3", {}, "The nearest that fits"), el("p", {}, outlook.nearestExhaustive ? "No smaller request fits either." : "None was found.")];
    return [el("h3", {}, "The nearest that fits"), el("ul", { class: "steps" }, changesOf(outlook.nearest).map((one) => el("li", {}, one))),
      el("button", { onclick: () => {
        text.value = JSON.stringify(outlook.nearest.manifest, null, 2);
        explain();
      } }, "Ask with that")];
  }

  function removal(outlook) {
    if (!outlook.removal) return [el("h3", {}, "Whose place it would take"), el("p", {}, "Not even an empty node has room for it.")];
    const { pods, smallest } = outlook.removal;
    return [el("h3", {}, "Whose place it would take"), el("p", { class: "dim" }, `Were ${pods.length === 1 ? "this pod" : `these ${count(pods.length, "pod")}`} gone, it would fit${smallest ? "; no fewer do" : ""}.`),
      el("ul", { class: "steps" }, pods.slice(0, 50).map((one) => el("li", {}, el("a", { href: `#pods/${encodeURIComponent(one.pod)}` }, one.pod))))];
  }

  function whoHolds(outlook) {
    if (outlook.holders.length === 0) return null;
    return el("details", {}, el("summary", {}, `Who holds what is short: ${outlook.holders.length}`),
      el("ul", { class: "steps" }, outlook.holders.slice(0, 50).map((one) => el("li", {}, `${one.pod} ${one.container}: ${one.amount} ${one.resource}${one.nodes ? ` on node ${one.nodes}` : ""}`))));
  }

  function showPlace(cpus) {
    mapBox.hidden = cpus.length === 0 || !store.machine;
    if (mapBox.hidden) return;
    map.uses = usesOf(store.machine, store.node, holders(), store.shared);
    map.chosen = new Set(cpus);
    const mine = { name: "this pod", letter: "★", color: 0 };
    for (const cpu of cpus) map.uses.set(cpu, { use: "exclusive", holder: mine });
    map.setMachine(store.machine);
  }

  async function compareAll() {
    compare.disabled = true;
    compared.hidden = false;
    fill(table);
    for (const policy of policies) {
      const row = el("tr", { class: policy.query ? "" : "own" }, el("th", { scope: "row" }, policy.query ? policy.name : `${policy.name}: ${store.node?.topologyPolicy ?? ""}`));
      table.append(row);
      try {
        const outlook = await asked(policy.query);
        const { admitted, reason, details } = outlook.decision;
        row.append(el("td", {}, el("span", { class: admitted ? "state good" : "state bad" }, admitted ? "fits" : "does not fit")),
          el("td", {}, admitted ? placesOf(outlook).join("; ") : `${reason}${details.length > 0 ? `: ${details[0]}` : ""}`),
          el("td", {}, admitted || !ofTheEngine(outlook) ? "" : outlook.nearest ? changesOf(outlook.nearest).join("; ") : "none"),
          el("td", {}, admitted || !ofTheEngine(outlook) ? "" : outlook.removal ? outlook.removal.pods.slice(0, 3).map((one) => one.pod).join(", ") +
            (outlook.removal.pods.length > 3 ? ` and ${outlook.removal.pods.length - 3} more` : "") : "nobody: it never fits"));
      } catch (error) {
        row.append(el("td", { colspan: 4, class: "dim" }, error.message));
        if (error.status === 0 || error.status === 401) break;
      }
    }
    compare.disabled = false;
  }

  async function applyIt() {
    try {
      const stored = await call("/v1/pods", { method: "POST", body: text.value });
      setText(said, stored.results.map((one) => `${one.namespace}/${one.name} ${one.action}`).concat(stored.warnings).join("; "));
    } catch (error) {
      setText(said, error.message);
    }
  }

  return { element, end: () => {} };
}
