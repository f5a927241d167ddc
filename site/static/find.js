// The search: in the bar of every page, where it is loaded when somebody goes there, and on a page of
// its own. What can be found site/gpt2_site/search.py writes down.

"use strict";

{
  const statics = new URL(".", document.currentScript.src);
  const book = new URL("..", statics);
  const FEW = 8; // results below the bar; the page shows MANY
  const MANY = 60;
  const { find, plain, readIndex } = globalThis.gpt2Rank;

  // A text's first characters, up to the end of a word.
  function begun(text, most) {
    return text.length > most ? `${text.slice(0, most + 1).replace(/\s+\S*$/, "")} …` : text;
  }

  // The part of a text around the first word that was found.
  function snippet({ text, inText }, words) {
    const at = Math.min(...words.map((word) => inText.indexOf(word)).filter((i) => i >= 0));
    if (!Number.isFinite(at)) return begun(text, 120);
    const from = at < 50 ? 0 : text.lastIndexOf(" ", at - 30) + 1;
    return (from ? "… " : "") + begun(text.slice(from), 140);
  }

  // A single letter is found as a word only: sqrt d has no d in "divided".
  function indexOf(text, word, from) {
    if (!/^[\p{L}\d]$/u.test(word)) return text.indexOf(word, from);
    const found = text
      .slice(from)
      .search(new RegExp(`(?<![\\p{L}\\d])${word}(?![\\p{L}\\d])`, "u"));
    return found < 0 ? found : from + found;
  }

  function marked(tag, text, words) {
    const element = document.createElement(tag);
    const low = plain(text);
    if (low.length !== text.length) {
      element.textContent = text; // letters with accents: nothing is marked rather than the wrong part
      return element;
    }
    let at = 0;
    while (at < text.length) {
      const next = words
        .map((word) => ({ word, i: indexOf(low, word, at) }))
        .filter(({ i }) => i >= 0)
        .sort((a, b) => a.i - b.i || b.word.length - a.word.length)[0];
      if (!next) break;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next.i, next.i + next.word.length);
      element.append(text.slice(at, next.i), mark);
      at = next.i + next.word.length;
    }
    element.append(text.slice(at));
    return element;
  }

  function shown(place, words) {
    const link = Object.assign(document.createElement("a"), { href: place.href });
    const kind = Object.assign(document.createElement("small"), { textContent: place.kind });
    const page = Object.assign(document.createElement("em"), { textContent: place.page });
    link.append(kind, " ", marked("b", place.title, words), " ", page);
    const text = snippet(place, words);
    if (text) link.append(marked("span", text, words));
    return link;
  }

  function told({ places, said }, query) {
    const asked = query.trim();
    if (!asked) return "";
    if (places.length) {
      return `${said}${places.length === 1 ? "One place" : `${places.length} places`} in the book.`;
    }
    const short = asked.length > 60 ? `${asked.slice(0, 60)}…` : asked;
    return `Nothing in the book has “${short}”. Try one word of it, its beginning, or another name.`;
  }

  let coming = null;
  function places() {
    coming ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL("find-index.js", statics).href;
      script.onload = () => resolve(readIndex(globalThis.gpt2Find, book));
      script.onerror = () => {
        coming = null;
        reject(new Error("The list of what stands in the book did not load. Try again."));
      };
      document.head.append(script);
    });
    return coming;
  }

  // Has a list answer what stands in a field: `most` places, each as `item` makes it of its link.
  function answering(field, list, status, { most, more, item, then = () => {} }) {
    return async () => {
      const query = field.value;
      try {
        const result = find(await places(), query);
        if (query !== field.value) return;
        const first = query.trim() ? result.places.slice(0, most) : [];
        status.textContent = told(result, query) + (result.places.length > most ? more : "");
        list.replaceChildren(...first.map((place, i) => item(shown(place, result.words), i)));
        list.dataset.query = query; // what they answer
      } catch (error) {
        list.replaceChildren();
        status.textContent = error.message;
      }
      then(query);
    };
  }

  // Below the bar: a few results, walked through by arrow keys.
  function attach(field) {
    const box = Object.assign(document.createElement("div"), {
      id: "found",
      className: "found",
      hidden: true,
    });
    const list = Object.assign(document.createElement("div"), { id: "found-places" });
    const status = Object.assign(document.createElement("p"), { className: "said" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Places in the book");
    status.setAttribute("role", "status");
    box.append(status, list);
    field.form.append(box);
    field.autocomplete = "off";
    field.spellcheck = false;
    for (const [name, value] of [
      ["role", "combobox"],
      ["aria-autocomplete", "list"],
      ["aria-controls", "found-places"],
      ["aria-expanded", "false"],
    ]) {
      field.setAttribute(name, value);
    }
    let active = -1;
    const open = (whether) => {
      box.hidden = !whether;
      field.setAttribute("aria-expanded", String(whether && list.childElementCount > 0));
      if (!whether) choose(-1);
    };
    const choose = (number) => {
      list.children[active]?.setAttribute("aria-selected", "false");
      active = number;
      const option = list.children[active];
      option?.setAttribute("aria-selected", "true");
      option?.scrollIntoView({ block: "nearest" });
      if (option) field.setAttribute("aria-activedescendant", option.id);
      else field.removeAttribute("aria-activedescendant");
    };
    const answer = answering(field, list, status, {
      most: FEW,
      more: " Enter shows all.",
      item(option, i) {
        option.id = `found-${i}`;
        option.tabIndex = -1;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        return option;
      },
      then(query) {
        active = -1;
        field.removeAttribute("aria-activedescendant");
        open(query.trim() !== "");
      },
    });
    field.addEventListener("input", answer);
    field.addEventListener("focus", () => field.value.trim() && answer());
    field.addEventListener("keydown", (event) => {
      const count = box.hidden ? 0 : list.childElementCount;
      if (event.key === "Escape" && !box.hidden) {
        event.preventDefault();
        open(false);
      } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count) {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        choose(active < 0 && step < 0 ? count - 1 : (active + step + count) % count);
      } else if (event.key === "Enter" && active >= 0 && count) {
        event.preventDefault();
        list.children[active].click();
        open(false);
      }
    });
    list.addEventListener("click", () => open(false));
    addEventListener("click", (event) => field.form.contains(event.target) || open(false));
    field.form.addEventListener("focusout", (event) => {
      if (!field.form.contains(event.relatedTarget)) open(false);
    });
    if (document.activeElement === field && field.value.trim()) answer();
  }

  // On its own page: all results.
  function page(results) {
    const field = document.querySelector("main input[name=q]");
    const answer = answering(field, results, document.getElementById("search-progress"), {
      most: MANY,
      more: ` The best ${MANY} are here.`,
      item(link) {
        const item = document.createElement("li");
        item.append(link);
        return item;
      },
    });
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    // The address says what is looked for, when typing pauses.
    let pause = 0;
    const asked = () => {
      clearTimeout(pause);
      pause = setTimeout(() => {
        history.replaceState(null, "", `?${new URLSearchParams({ q: field.value })}`);
      }, 300);
      answer();
    };
    field.addEventListener("input", asked);
    field.form.addEventListener("submit", (event) => {
      event.preventDefault();
      asked();
    });
    if (field.value) answer();
    else field.focus();
  }

  const style = document.createElement("link");
  Object.assign(style, { rel: "stylesheet", href: new URL("find.css", statics).href });
  const results = document.getElementById("search-results");
  if (results) page(results);
  else document.head.append(style);
  attach(document.querySelector(".find input"));
}
