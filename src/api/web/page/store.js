// What the page knows of the node: everything once, then what changes as it is told.
import { call } from "./api.js";
import { ids } from "./format.js";

const kMostEvents = 5000;
const kMostSamples = 1200;
const kAgain = 5000; // milliseconds before a stream that was refused is asked for again

export const nameOf = (pod) => `${pod.namespace}/${pod.name}`;

class Store extends EventTarget {
  machine = null;
  node = null;
  pods = new Map(); // by namespace/name
  sorted = []; // the same, by name
  shared = "";
  events = []; // the newest first
  stats = null; // of the node
  use = new Map(); // of pods: {cores, memory, throttled, remote}
  samples = []; // {at, cores, memory, pods}
  live = false;
  changes = false; // may be asked for

  start() {
    this.stop();
    const source = new EventSource("/web/live");
    this.source = source;
    source.onerror = () => {
      this.setLive(false);
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.source === source && this.lookAgain(), kAgain);
    };
    const on = (name, take) => source.addEventListener(name, (event) => take(JSON.parse(event.data)));
    on("hello", (news) => this.load(news));
    on("reset", (news) => this.load(news));
    on("pods", (news) => this.takePods(news));
    on("events", (news) => this.takeEvents(news.events));
    on("stats", (news) => this.takeStats(news));
  }

  // The browser has given up: berthd said no, because the session ended or too many look.
  async lookAgain() {
    try {
      await call("/v1/status");
      this.start();
    } catch (error) {
      if (error.status === 401) this.tell("locked");
      else this.start();
    }
  }

  stop() {
    this.source?.close();
    this.source = null;
  }

  async load({ shared }) {
    this.shared = shared;
    try {
      const [machine, node, pods, events] = await Promise.all([
        call("/v1/machine"), call("/v1/node"), call("/v1/pods"), call("/v1/events?limit=1000")]);
      this.machine = machine;
      this.node = node;
      this.pods = new Map(pods.pods.map((pod) => [nameOf(pod), pod]));
      this.events = events.events.reverse();
      this.sort();
      this.setLive(true);
      this.tell("machine", "pods", "events");
      this.takeStats(await call("/stats/summary"));
    } catch (error) {
      this.setLive(false);
      if (error.status === 401) this.tell("locked");
    }
  }

  takePods({ pods, gone, shared }) {
    this.shared = shared;
    for (const name of gone) {
      this.pods.delete(name);
      this.use.delete(name);
    }
    for (const pod of pods) this.pods.set(nameOf(pod), pod);
    this.sort();
    this.tell("pods");
  }

  sort() {
    this.sorted = [...this.pods.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  // An event that happened again is told again, with its count.
  takeEvents(events) {
    const same = (a, b) => a.reason === b.reason && a.object === b.object && a.message === b.message;
    for (const event of events) {
      const at = event.count > 1 ? this.events.slice(0, 200).findIndex((old) => same(old, event)) : -1;
      if (at >= 0) this.events.splice(at, 1);
      this.events.unshift(event);
    }
    this.events.length = Math.min(this.events.length, kMostEvents);
    this.tell("events");
  }

  takeStats({ node, pods }) {
    this.stats = node;
    for (const pod of pods) {
      const name = `${pod.podRef.namespace}/${pod.podRef.name}`;
      this.use.set(name, useOf(pod, this.pods.get(name), this.use.get(name)));
    }
    const cpu = node.cpu?.usageNanoCores;
    this.samples.push({ at: Date.now(), cores: cpu === undefined ? undefined : cpu / 1e9,
      memory: node.memory?.workingSetBytes, pods: this.pods.size });
    if (this.samples.length > kMostSamples) this.samples.shift();
    this.tell("stats");
  }

  setLive(live) {
    if (live === this.live) return;
    this.live = live;
    this.tell("live");
  }

  tell(...what) {
    for (const name of what) this.dispatchEvent(new Event(name));
  }

  // Calls `take` on each of the events, and returns what ends that.
  on(names, take) {
    for (const name of names.split(" ")) this.addEventListener(name, take);
    return () => names.split(" ").forEach((name) => this.removeEventListener(name, take));
  }
}

// Of one pod from what /stats/summary says of it. Throttling is what happened since it was told last.
function useOf(stats, pod, before) {
  const nano = stats.cpu?.usageNanoCores;
  const throttling = stats.containers.map((container) => container.cpu?.throttling).filter(Boolean);
  const periods = throttling.reduce((sum, one) => sum + one.periods, 0);
  const held = throttling.reduce((sum, one) => sum + one.throttledPeriods, 0);
  const more = before ? periods - before.periods : 0;
  return {
    cores: nano === undefined ? undefined : nano / 1e9,
    memory: stats.memory?.workingSetBytes,
    periods, held,
    throttled: more > 0 ? (held - before.held) / more : throttling.length > 0 ? before?.throttled ?? 0 : undefined,
    remote: remoteOf(stats, pod),
  };
}

// Bytes that lie on other memory nodes than its containers are bound to; undefined: nothing is known of that.
function remoteOf(stats, pod) {
  let out;
  for (const container of stats.containers) {
    const by_node = container.memory?.numaBytes;
    const place = pod?.containers.find((one) => one.name === container.name);
    const nodes = ids(place?.memoryNodes || (place?.exclusive ? place.hint?.nodes : ""));
    if (!by_node || nodes.length === 0) continue;
    out ??= 0;
    for (const [node, size] of Object.entries(by_node)) if (!nodes.includes(Number(node))) out += size;
  }
  return out;
}

export const store = new Store();

// Who has CPUs of their own, in the order they came, and then named pools: [{name, opens, cpus, letter, color}]. `opens` is
// the pod, or one that runs in the pool.
export function holders() {
  const own = [];
  const pools = new Map();
  for (const pod of store.sorted) {
    const cpus = pod.containers.filter((one) => one.exclusive).flatMap((one) => ids(one.cpus));
    if (cpus.length > 0) own.push({ name: nameOf(pod), opens: nameOf(pod), since: pod.admittedAt ?? "", cpus: [...new Set(cpus)] });
    for (const one of pod.containers)
      if (one.pool && !pools.has(one.pool))
        pools.set(one.pool, { name: `CPU pool ${one.pool}`, opens: nameOf(pod), cpus: ids(one.cpus) });
  }
  own.sort((a, b) => (a.since < b.since ? -1 : 1));
  const out = [...own, ...[...pools.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))];
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  out.forEach((holder, at) => {
    const high = Math.floor(at / letters.length);
    const one = letters[at % letters.length];
    holder.letter = out.length <= letters.length ? one : high < letters.length ? letters[high] + one : "**";
    holder.color = at % 8;
  });
  return out;
}
