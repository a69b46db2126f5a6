// Numbers, sets and times as people read them.

export function bytes(value) {
  if (value === undefined || value === null) return "";
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024 || unit === "TiB") return `${size < 10 && unit !== "B" ? size.toFixed(1) : Math.round(size)} ${unit}`;
    size /= 1024;
  }
}

export function cores(value) {
  if (value === undefined || value === null) return "";
  return value < 10 ? value.toFixed(2) : value.toFixed(1);
}

export function percent(part) {
  return part === undefined || Number.isNaN(part) ? "" : `${Math.round(part * 100)} %`;
}

export function count(number, one, many = one + "s") {
  return `${number} ${number === 1 ? one : many}`;
}

// "0-3,8" as [0, 1, 2, 3, 8]. Anything else is an empty list.
export function ids(text) {
  const out = [];
  for (const part of (text || "").split(",")) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!found) continue;
    const last = Number(found[2] ?? found[1]);
    for (let id = Number(found[1]); id <= last && out.length < 65536; id++) out.push(id);
  }
  return out;
}

export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function clock(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString([], { hour12: false });
}

// A quantity of Kubernetes ("500m", "64Mi") as a number.
export function quantity(text) {
  const found = /^([+-]?[0-9.]+)([a-zA-Z]*)$/.exec(text ?? "");
  if (!found) return 0;
  const units = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
  return Number(found[1]) * (found[2] ? units[found[2]] ?? 1 : 1);
}
