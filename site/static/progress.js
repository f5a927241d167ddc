// What the reader has done, kept in this browser under one key, in the format of progress.json: the
// package reads what the page writes, and the page what the package wrote. Nothing is sent anywhere.

"use strict";

{
  const KEY = "gpt2-edu progress";
  const FORMAT = "gpt2-edu progress";
  const VERSION = 1;
  const OFF =
    "This browser keeps nothing for this page: what you do here is forgotten when you leave it.";

  /** @type {Progress | null} */
  let memory = null; // where the browser keeps nothing
  let problem = "";
  /** @type {(() => void)[]} */
  const listeners = [];

  /** @type {(entries?: [string, any][]) => Record<string, any>} */
  const table = (entries = []) => {
    const made = Object.create(null); // any name may come, "__proto__" too
    for (const [name, entry] of entries) made[name] = entry;
    return made;
  };
  /** @returns {Progress} */
  const empty = () => ({ passed: table(), questions: table() });
  const now = () => new Date().toISOString().replace("Z", "+00:00"); // as Python writes it
  /** @param {unknown} value */
  const isDate = (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value);
  /** @type {(value: unknown) => value is Record<string, any>} */
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

  // Read a progress file. Throws an Error that says what is wrong with it.
  /** @type {(text: string) => Progress} */
  function parse(text) {
    let stored;
    try {
      stored = JSON.parse(text.replace(/^\ufeff/, ""));
    } catch {
      throw new Error("what it holds is no JSON");
    }
    if (!isTable(stored) || stored.format !== FORMAT) {
      throw new Error(`it does not say that its format is “${FORMAT}”`);
    }
    if (stored.version !== VERSION) {
      throw new Error(`its version is ${stored.version}, and this page reads ${VERSION}`);
    }
    const { passed, questions = {} } = stored;
    /** @param {Record<string, any>} entry */
    const known = ({ on, source = null }) =>
      isDate(on) && (source === null || typeof source === "string");
    /** @param {Record<string, any>} entry */
    const answered = ({ on, first, right, chosen = "" }) =>
      isDate(on) &&
      typeof first === "boolean" &&
      typeof right === "boolean" &&
      typeof chosen === "string";
    /** @type {(value: unknown, fits: (entry: Record<string, any>) => boolean) => boolean} */
    const all = (value, fits) =>
      isTable(value) && Object.values(value).every((entry) => isTable(entry) && fits(entry));
    if (!all(passed, known)) throw new Error("its list of exercises is damaged");
    if (!all(questions, answered)) throw new Error("its list of questions is damaged");
    return { passed: table(Object.entries(passed)), questions: table(Object.entries(questions)) };
  }

  /** @param {Progress} progress */
  const text = (progress) =>
    JSON.stringify({ format: FORMAT, version: VERSION, ...progress }, null, 1) + "\n";

  function read() {
    if (memory) return memory;
    let stored;
    try {
      stored = localStorage.getItem(KEY);
    } catch {
      problem = OFF;
      return (memory = empty());
    }
    if (stored === null) return empty();
    try {
      return parse(stored);
    } catch (error) {
      return setAside(stored, /** @type {Error} */ (error).message);
    }
  }

  // What cannot be read is not lost: it gets another name, or stays, and then nothing is written.
  /** @type {(stored: string, why: string) => Progress} */
  function setAside(stored, why) {
    const aside = `${KEY}, set aside ${now()}`;
    try {
      localStorage.setItem(aside, stored);
      localStorage.removeItem(KEY);
      problem = `What this browser kept could not be read: ${why}. It was set aside as “${aside}”, and a new record is begun.`;
      return empty();
    } catch {
      problem = `What this browser keeps could not be read: ${why}. It is left as it is, and what you do now is kept until you close this page.`;
      return (memory = empty());
    }
  }

  /** @param {Progress} progress */
  function write(progress) {
    if (memory) memory = progress;
    else {
      try {
        localStorage.setItem(KEY, text(progress));
      } catch {
        memory = progress;
        problem = OFF;
      }
    }
    for (const listener of listeners) listener();
  }

  /** @param {string} name */
  function pass(name) {
    const progress = read();
    progress.passed[name] = { on: now(), source: progress.passed[name]?.source ?? null };
    write(progress);
  }

  // Note an answer to a question: the first one, whether it was right, and whether one was since.
  /** @type {(id: string, right: boolean, chosen: string) => void} */
  function answer(id, right, chosen) {
    const progress = read();
    const before = progress.questions[id];
    if (before && (before.right || !right)) return;
    const first = before ?? { first: right, chosen };
    progress.questions[id] = { ...first, on: now(), right };
    write(progress);
  }

  // Add what a file holds; of two entries the later stays. Throws an Error if it cannot be read.
  /** @type {(file: string) => number} */
  function merge(file) {
    /** @type {Record<string, Record<string, any>>} */
    const theirs = { ...parse(file) };
    const progress = read();
    /** @type {Record<string, Record<string, any>>} */
    const mine = { ...progress };
    let added = 0;
    for (const kind of ["passed", "questions"]) {
      for (const [name, entry] of Object.entries(theirs[kind])) {
        const own = mine[kind][name];
        if (own && entry.on <= own.on) continue;
        mine[kind][name] = { ...entry }; // but code to build on stays, and what was right once
        if (kind === "passed") mine[kind][name].source = entry.source ?? own?.source ?? null;
        else mine[kind][name].right ||= own?.right ?? false;
        added++;
      }
    }
    write(progress);
    return added;
  }

  const forget = () => write(empty());

  addEventListener("storage", (event) => {
    if (event.key === KEY || event.key === null) for (const listener of listeners) listener();
  });

  globalThis.gpt2Progress = {
    read,
    pass,
    answer,
    merge,
    forget,
    text: () => text(read()),
    problem: () => problem,
    changed: (listener) => listeners.push(listener),
  };
}
