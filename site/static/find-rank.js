// Which places of the book fit a query, best first. It has no part in the page: find.js shows them.

"use strict";

{
  // Of two places that fit alike the one that explains comes first.
  const WORTH = { term: 7, tensor: 6, section: 5, code: 4, deeper: 3, question: 2, exercise: 1 };
  // What a place is worth that is called exactly so.
  const NAMED = {
    term: 70,
    section: 65,
    tensor: 65,
    deeper: 60,
    code: 40,
    exercise: 40,
    question: 40,
  };
  // Words that need not be found.
  const SMALL = new Set(
    "a an and are by can do does for from how i in is it my of on or the to what when why with".split(
      " ",
    ),
  );
  const LETTER = /[\p{L}\p{N}]/u;

  const plain = (text) =>
    text
      .toLowerCase()
      .normalize("NFD")
      .replace(/\p{M}/gu, "")
      .replace(/␣/g, " ")
      .replace(/[’‘]/g, "'");

  // How well a word fits: 3 as a whole, 2 as a beginning, 1 inside, 0 not at all.
  function fits(word, text) {
    let best = 0;
    for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
      const open = at === 0 || !LETTER.test(word[0]) || !LETTER.test(text[at - 1]);
      const after = text[at + word.length];
      const closed = after === undefined || !LETTER.test(word.at(-1)) || !LETTER.test(after);
      const inside = word.length > 2 || !LETTER.test(word[0]) ? 1 : 0;
      best = Math.max(best, open && closed ? 3 : open ? 2 : inside);
    }
    return best;
  }

  function readIndex({ kinds, pages, places }, book) {
    return places.map(([page, anchor, kind, title, text]) => ({
      href: new URL(`${pages[page][0]}.html#${anchor}`, book).href,
      page: pages[page][1],
      kind: kinds[kind],
      here: globalThis.location?.pathname.endsWith(`/${pages[page][0]}.html`) ?? false,
      title,
      text,
      inTitle: plain(title),
      inText: plain(text),
      inPage: plain(pages[page][1]),
      share: Math.min(1, 5 / title.split(" ").length), // one word of many says less
    }));
  }

  function score(place, words, whole) {
    let sum = 0;
    let missed = 0;
    let titled = 0;
    for (const word of words) {
      const title = fits(word, place.inTitle);
      const text = fits(word, place.inText);
      const page = fits(word, place.inPage);
      const small = SMALL.has(word) && words.length > 1;
      if (!title && !text && !page && !small) missed++;
      if (title || small) titled++;
      if (!small) sum += 10 * title * place.share + 2 * text + 3 * page;
    }
    if (titled === words.length) sum += 15;
    const name = place.inTitle.replace(/^(\d+\.|the) |[?.]$/g, "");
    const bare = words.filter((word) => !SMALL.has(word)).join(" ");
    if (name === whole || name === bare) sum += NAMED[place.kind];
    else if (name === `${whole}s` || `${name}s` === whole) sum += NAMED[place.kind] - 10;
    if (place.inText.includes(whole)) sum += 4;
    const asked = place.inPage.startsWith("practice") ? -8 : 0; // before that comes what explains
    const here = place.here && titled ? 12 : 0; // of the page that is being read
    return { place, missed, sum: sum + WORTH[place.kind] + asked + here - place.title.length / 40 };
  }

  // The nearest word of the headings, one or two letters away.
  function nearest(word, places) {
    let best = null;
    let least = word.length > 6 ? 2.5 : 1.5;
    for (const other of new Set(
      places.flatMap(({ inTitle }) => inTitle.match(/[\p{L}\p{N}]{4,}/gu) ?? []),
    )) {
      if (Math.abs(other.length - word.length) > 2) continue;
      const far = distance(word, other);
      if (far < least) [best, least] = [other, far];
    }
    return best;
  }

  // Letters to add, to drop, to change or to swap.
  function distance(a, b) {
    const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
    for (let i = 1; i <= a.length; i++) {
      rows.push([i]);
      for (let j = 1; j <= b.length; j++) {
        const cost = a[i - 1] === b[j - 1] ? 0 : 1;
        const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
        rows[i].push(
          Math.min(
            rows[i - 1][j] + 1,
            rows[i][j - 1] + 1,
            rows[i - 1][j - 1] + cost,
            swapped ? rows[i - 2][j - 2] + 1 : Infinity,
          ),
        );
      }
    }
    return rows[a.length][b.length];
  }

  // What is found for a query: places, best first, the words to mark, and what is to be said of it.
  function find(places, query) {
    let whole = plain(query.normalize("NFKC")).trim(); // full-width letters, too
    const known = (word) =>
      places.some(({ inTitle, inText }) => fits(word, inTitle) || fits(word, inText));
    let words = [...new Set(whole.split(/\s+/).filter(Boolean))].flatMap((word) =>
      known(word) ? [word] : (word.match(/[\p{L}\p{N}]+/gu) ?? [word]),
    );
    const all = () => {
      const scored = places.map((place) => score(place, words, whole)).filter(({ sum }) => sum > 8);
      const least = Math.min(...scored.map(({ missed }) => missed));
      return {
        least,
        found: scored.filter(({ missed }) => missed === least && missed < words.length),
      };
    };
    let { least, found } = all();
    let said = "";
    if (least > 0 || !found.length) {
      const mended = words.map((word) =>
        word.length < 4 ||
        places.some((place) => fits(word, place.inTitle) || fits(word, place.inText))
          ? word
          : (nearest(word, places) ?? word),
      );
      const changed = mended.filter((word, i) => word !== words[i]);
      if (changed.length) {
        words = mended;
        whole = words.join(" ");
        ({ least, found } = all());
        said = `Did you mean ${changed.map((word) => `“${word}”`).join(" and ")}? `;
      }
    }
    found.sort((a, b) => b.sum - a.sum);
    if (found.length && least > 0)
      said += "No place has all of these words; these have most of them. ";
    return { places: found.map(({ place }) => place), words, said };
  }

  globalThis.gpt2Rank = { find, plain, readIndex };
}
