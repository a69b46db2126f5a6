// The page: which view is shown, whether it is live, and the token where one is asked for.
import { call } from "./api.js";
import { el, fill, setText } from "./dom.js";
import { eventsView } from "./events.js";
import { machineView } from "./machine.js";
import { podsView } from "./pods.js";
import { store } from "./store.js";
import { timelineView } from "./timeline.js";
import { treeView } from "./tree.js";
import { whatIfView } from "./whatif.js";

const openPod = (name) => (location.hash = name ? `#pods/${encodeURIComponent(name)}` : "#pods");
const views = {
  machine: { title: "Machine", make: () => machineView(openPod) },
  pods: { title: "Pods", make: (chosen) => podsView(openPod, chosen) },
  events: { title: "Events", make: eventsView },
  cgroups: { title: "Cgroups", make: treeView },
  timeline: { title: "Timeline", make: timelineView },
  "what-if": { title: "What if", make: whatIfView },
};

const find = (id) => document.getElementById(id);
let session = null;
let shown = { name: null };

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// "#pods/default%2Fweb": the view, and what is chosen in it.
function place() {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return { name: Object.hasOwn(views, name) ? name : "machine", chosen: rest.length > 0 ? decoded(rest.join("/")) : null };
}

function show() {
  const { name, chosen } = place();
  for (const link of find("nav").querySelectorAll("a"))
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  if (shown.name === name && shown.view?.show) return shown.view.show(chosen);
  if (shown.name === name) return;
  const first = shown.name === null;
  shown.view?.end();
  shown = { name, view: views[name].make(chosen) };
  document.title = `${views[name].title} · ${session.nodeName} · Berth`;
  fill(find("content"), shown.view.element);
  if (!first) find("content").focus();
  scrollTo(0, 0);
}

function showLive() {
  const live = find("live");
  live.classList.toggle("on", store.live);
  setText(live, store.live ? "live" : "not connected");
}

function showLogin(problem = "") {
  store.stop();
  shown.view?.end();
  shown = { name: null };
  find("nav").hidden = true;
  find("logout").hidden = true;
  const token = el("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const said = el("p", { class: "bad", role: "alert" }, problem);
  fill(find("content"), el("form", { class: "panel login", onsubmit: async (event) => {
    event.preventDefault();
    try {
      await call("/web/login", { method: "POST", body: token.value });
      begin();
    } catch (error) {
      setText(said, error.message);
    }
  } }, el("h2", {}, "Log in"), el("label", { for: "token" }, "The token of this page (tokenFile in berthd's settings)"), token,
  el("button", { class: "main" }, "Log in"), said));
  token.focus();
}

async function begin() {
  try {
    session = await call("/web/session");
  } catch (error) {
    fill(find("content"), el("p", { class: "note" }, error.message));
    return;
  }
  setText(find("node"), session.nodeName);
  if (!session.open) return showLogin();
  store.changes = session.changes;
  find("nav").hidden = false;
  find("logout").hidden = !session.asks;
  store.start();
  show();
}

fill(find("nav"), Object.entries(views).map(([name, view]) => el("li", {}, el("a", { href: `#${name}` }, view.title))));
find("logout").addEventListener("click", async () => {
  await call("/web/logout", { method: "POST" }).catch(() => {});
  showLogin();
});
// The way to the content would be taken for a view.
document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), find("content").focus()));
addEventListener("hashchange", () => session?.open !== false && find("nav").hidden === false && show());
store.on("live", showLive);
store.on("locked", () => showLogin("The session has ended."));
showLive();
begin();
