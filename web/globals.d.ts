// What scripts of the pages leave for each other.

/** The function around all modules, where they were packed into one script (npm run build). */
declare const packed: (() => void) | undefined;

/** The engine (site.mjs), which gpt2.js defines. */
declare var gpt2: any;

/** One number as it may be meant: `slack` is how far off rounding may have put it. */
interface Reading {
  value: number;
  slack: number;
  digits: number;
}
/** Readings, the likelier one first, or a sentence that asks for something else. */
type Read = { readings: Reading[]; ask?: undefined } | { readings?: undefined; ask: string };

declare var gpt2Answers: {
  plain(text: string): string;
  readNumber(typed: string, wanted?: { share?: boolean; unit?: string }): Read;
  split(typed: string, count?: number): string[];
};

/** A value as JSON holds it: "inf", "-inf" and "nan" are numbers, too. */
type Value = number | string;
/** Text in pieces, each with the element it is set in, or "". */
type Runs = [string, string][];
/** What practice_tasks.py says of an exercise. */
interface Task {
  kind: "number" | "numbers" | "list" | "words" | "tokens";
  right: Value[];
  tolerance: number;
  mistakes: { value: Value[]; says: Runs }[];
  share: boolean;
  unit: string;
  after: string;
}
interface Judgement {
  verdict: "right" | "wrong" | "ask";
  says: string;
  why?: Runs;
  field?: number;
}
declare var gpt2Judge: (task: Task, typed: string[]) => Judgement;

/** What the exhibits share, which base.js defines. */
declare var gpt2Base: any;

/** What take-svg.js leaves: a figure as the text of an SVG file. */
declare var gpt2Picture: {
  picture(
    figure: HTMLElement,
    words: { title: string; source: string; about: string },
  ): Promise<string>;
};

/** What the reader has done, as progress.json has it. */
interface Progress {
  passed: Record<string, { on: string; source: string | null }>;
  questions: Record<string, { on: string; first: boolean; right: boolean; chosen?: string }>;
}
declare var gpt2Progress: {
  read(): Progress;
  pass(name: string): void;
  answer(id: string, right: boolean, chosen: string): void;
  merge(file: string): number;
  forget(): void;
  text(): string;
  problem(): string;
  changed(listener: () => void): void;
};

/** Training in the page, which runs.js defines (runs/all.mjs). */
declare var gpt2Runs: any;

/** Of service workers, what Workbox names: their own library does not go with that of pages. */
interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
type Client = object;
