// Elements that only become text, in place of a browser's: with them an exhibit's own code writes what
// stands in its place before it wakes (../build.mjs).

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ESCAPES[c]);

class Markup {
  constructor(tag) {
    this.tag = tag;
    this.attributes = new Map();
    this.children = [];
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  toggleAttribute(name, on) {
    if (on) this.attributes.set(name, "");
    else this.attributes.delete(name);
  }
  append(...children) {
    this.children.push(...children);
  }
  toString() {
    const attributes = [...this.attributes].map(([name, value]) =>
      value === "" ? ` ${name}` : ` ${name}="${escaped(value)}"`,
    );
    const inside = this.children.map((one) => (one instanceof Markup ? one : escaped(one)));
    return `<${this.tag}${attributes.join("")}>${inside.join("")}</${this.tag}>`;
  }
}

/** What `make` asks a browser for. */
export function pretend() {
  globalThis.HTMLButtonElement = class {};
  globalThis.document = { createElement: (tag) => new Markup(tag) };
}
