// Elements, made without any text becoming markup: what a pod is called is text, whatever it is.

// el("a", {href: "#pods", class: "x", onclick: f}, "text", other, [more]): attributes, on… as listeners, hidden and the like
// as properties.
export function el(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") out[name] = value;
    else if (value !== undefined && value !== null) out.setAttribute(name, value);
  }
  add(out, children);
  return out;
}

function add(to, children) {
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) to.append(child);
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

// Sets only what differs: a list of thousands is looked at many times a second.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

// Calls `draw` in the next frame, however often it is asked for before that.
export function eachFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
