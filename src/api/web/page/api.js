// Calls of the page. Errors are berthd's own sentences.

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function call(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", credentials: "same-origin", redirect: "error", ...options });
  } catch {
    throw new Refused("berthd does not answer", 0);
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(body?.error?.message ?? `berthd answers ${answer.status}`, answer.status);
  return body;
}

// A name as one segment of a path.
export const segment = encodeURIComponent;

export const podPath = (pod) => `/v1/pods/${segment(pod.namespace)}/${segment(pod.name)}`;
