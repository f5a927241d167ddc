// Which places of the book fit a query, best first: MiniSearch ranks them, by BM25. find.js shows
// them. Here is what is particular to this book: its words, and which kinds of places come first.

"use strict";

{
  // Of two places that fit alike the one that explains comes first.
  const WORTH = {
    term: 3,
    section: 2.7,
    tensor: 2.3,
    deeper: 2.4,
    code: 2,
    question: 1,
    exercise: 1,
  };
  // Words that need not be found.
  const SMALL = new Set(
    "a an and are by can do does for from how i in is it my of on or the to what when why with".split(
      " ",
    ),
  );
  const PARTS = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|\p{Sm}/gu;

  const plain = (text) =>
    text
      .toLowerCase()
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .replace(/␣/g, " ")
      .replace(/[’‘]/g, "'");
  const stem = (word) => (word.length > 3 ? word.replace(/(?<=[^isu])s$/, "") : word);

  // A word as it is written, without what stands around it, and its parts: of "attn.masked_scores"
  // "attn", "masked" and "scores", of "LayerNorm" "layer" and "norm".
  const bare = (word) => word.replace(/^[("“‘[]+|[.,;:?!)"”’\]]+$/g, "") || word;
  const parts = (word) => word.match(PARTS) ?? [];
  const written = (word) =>
    [word, ...word.split(/[^\p{L}\p{N}_]+/u), ...parts(word)].filter(Boolean);
  const words = (text) => text.split(/\s+/).filter(Boolean).map(bare);
  const name = (title) => title.replace(/^(\d+\.|the|The) |[?.]$/g, "");

  function readIndex({ kinds, pages, places }, book) {
    const known = places.map(([page, anchor, kind, title, text], id) => ({
      id,
      href: new URL(`${pages[page][0]}.html#${anchor}`, book).href,
      page: pages[page][1],
      kind: kinds[kind],
      here: globalThis.location?.pathname.endsWith(`/${pages[page][0]}.html`) ?? false,
      title,
      text,
      name: name(title),
      inText: plain(text),
    }));
    const index = new globalThis.MiniSearch({
      fields: ["name", "title", "page", "text"],
      tokenize: (text, field) =>
        field === "name" ? [text] : words(text).flatMap((word) => [...new Set(written(word))]),
      processTerm: (term) => stem(plain(term)),
    });
    index.addAll(known);
    return { known, index };
  }

  // What is found for a query: places, best first, the words to mark, and what is to be said of it.
  function find({ known, index }, query) {
    const asked = words(query.normalize("NFKC")); // full-width letters, too
    const large = asked.filter((word) => !SMALL.has(word.toLowerCase()));
    const options = {
      fields: ["title", "page", "text"],
      tokenize: (text) => [text],
      boost: { title: 4, page: 1.5 },
      prefix: (term) => term.length > 1,
      weights: { prefix: 0.5, fuzzy: 0.4 },
      boostDocument: (id) =>
        WORTH[known[id].kind] *
        (known[id].page.startsWith("Practice") ? 0.7 : 1) *
        (known[id].here ? 1.2 : 1),
    };
    const has = (word) => index.search(word, options).length > 0;
    let terms = (large.length ? large : asked).flatMap((word) =>
      has(word) ? [word] : word.split(/[^\p{L}\p{N}]+/u).filter(Boolean),
    );
    const mended = terms.map((term) =>
      term.length < 4 || has(term)
        ? term
        : (index.autoSuggest(term, { ...options, fields: ["title"], fuzzy: 0.25 })[0]?.suggestion ??
          term),
    );
    const changed = mended.filter((term, i) => term !== terms[i]);
    terms = mended;
    const whole = changed.length ? [terms] : [asked, large];
    const named = {
      fields: ["name"],
      boost: { name: 6 },
      queries: whole.map((all) => name(all.join(" "))),
    };
    const search = (combineWith) =>
      index.search(
        { combineWith: "OR", queries: [{ combineWith, queries: terms }, named] },
        options,
      );
    let said = changed.length
      ? `Did you mean ${changed.map((word) => `“${word}”`).join(" and ")}? `
      : "";
    let found = search("AND");
    if (!found.length && terms.length > 1 && (found = search("OR")).length)
      said += "No place has all of these words; these have most of them. ";
    return {
      places: found.map(({ id }) => known[id]),
      words: terms.map((w) => stem(plain(w))),
      said,
    };
  }

  globalThis.gpt2Rank = { find, plain, readIndex };
}
