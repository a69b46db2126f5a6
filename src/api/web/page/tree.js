// The control groups, what stands in their files, and the formulas that say what should.
import { call } from "./api.js";
import { el, fill, setText } from "./dom.js";
import { List } from "./list.js";

const depth = (group) => group.path.split("/").filter(Boolean).length;
const off = (group) => group.values.filter((value) => !value.same).length;

const columns = [
  { title: "Group", min: 260, grow: 3, text: (group) => `${"\u2003".repeat(Math.max(0, group.depth))}${group.short}` },
  { title: "What", min: 160, grow: 2, rank: 1, text: (group) => group.what },
  { title: "Values", min: 110, text: (group) => group.problem ? "unreadable" : group.off > 0 ? `${group.off} differ` : "as wanted",
    look: (group) => (group.problem || group.off > 0 ? "state bad" : "state good") },
];

export function treeView() {
  const list = new List({ label: "Control groups", columns, key: (group) => group.path, open: (group) => show(group), empty: "No group." });
  const search = el("input", { type: "search", placeholder: "Filter by path", "aria-label": "Filter groups", oninput: () => draw() });
  const said = el("span", { class: "dim", role: "status" });
  const details = el("aside", { class: "panel details", "aria-label": "About one group", tabindex: -1 },
    el("p", { class: "note" }, "Choose a group: its values and where they come from are shown here."));
  const element = el("div", {},
    el("div", { class: "bar" }, el("h2", {}, "Control groups"), search, el("button", { onclick: () => load() }, "Read again"), said),
    el("div", { class: "split" }, list.element, details));
  let groups = [];

  async function load() {
    try {
      const tree = await call("/v1/tree");
      const hosts = tree.hostGroups.map((one) => ({ ...one, what: one.setting, values: one.values ?? [] }));
      const least = Math.min(...tree.groups.map(depth));
      groups = [...tree.groups, ...hosts].map((group) => ({ ...group, depth: depth(group) - least, off: off(group),
        short: group.path.split("/").pop() || group.path || "/" }));
      setText(said, `cgroup ${tree.cgroupVersion}, ${tree.driver}, below ${tree.root}`);
      draw();
    } catch (error) {
      setText(said, error.message);
    }
  }

  function draw() {
    const word = search.value.toLowerCase();
    list.show(groups.filter((group) => `${group.path} ${group.what}`.toLowerCase().includes(word)));
  }

  function show(group) {
    list.choose(group);
    fill(details, el("h2", {}, group.short), el("p", { class: "dim mono" }, group.path), el("p", {}, group.what),
      group.problem ? el("p", { class: "bad" }, group.problem) : null,
      group.values.map((value) => [
        el("h3", {}, value.file),
        el("p", { class: "mono" }, String(value.found),
          value.same ? null : el("strong", { class: "bad" }, `  differs, wanted ${value.wanted}`)),
        el("p", { class: "dim" }, value.why)]));
    details.focus();
  }

  load();
  return { element, end: () => {} };
}
