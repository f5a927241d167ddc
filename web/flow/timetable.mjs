// When what happens in a pass that plays, and what it is called: the verbs are the same everywhere.

/** What the verbs mean. @type {Record<string, string>} */
export const TOLD = {
  "look up": "each token fetches its vector",
  copy: "each token makes a query, a key, a value",
  gather: "tokens take from where they look",
  write: "what was found is added",
  think: "the MLP works on each token alone",
  choose: "every word gets its share",
};

/**
 * @param {number} depth
 * @param {number} nLayer
 * @returns {[string, string]}  the block, and the verb
 */
export function happens(depth, nLayer) {
  const n = Math.floor(depth) - 1;
  if (depth <= 1) return ["", "look up"];
  if (n >= nLayer) return ["", "choose"];
  const verb = BLOCK.find(({ to }) => depth <= n + 1 + to)?.verb ?? "";
  return [`block ${n}: `, verb];
}

/** The five verbs: milliseconds, and how far the pass is at their end. Within a block, 0 to 1. */
const LOOK_UP = 700;
export const BLOCK = [
  { verb: "copy", to: 0.08, takes: 300 },
  { verb: "gather", to: 0.45, takes: 900 },
  { verb: "write", to: 0.61, takes: 400 },
  { verb: "think", to: 0.9, takes: 400 },
  { verb: "write", to: 1, takes: 300 },
];
const CHOOSE = 700;
const LONGEST = 9000; // milliseconds of a pass, however many blocks

/**
 * How far a pass has come after a time: depth by milliseconds.
 * @param {number} nLayer
 */
export function timetable(nLayer) {
  const ends = [{ time: LOOK_UP, depth: 1 }];
  for (let n = 0; n < nLayer; n++) {
    for (const { to, takes } of BLOCK) {
      ends.push({ time: ends[ends.length - 1].time + takes, depth: n + 1 + to });
    }
  }
  ends.push({ time: ends[ends.length - 1].time + CHOOSE, depth: nLayer + 2 });
  const { time: all } = ends[ends.length - 1];
  const pace = Math.max(1, all / LONGEST);
  return {
    length: all / pace,
    /** @param {number} depth */
    when(depth) {
      const i = Math.max(
        0,
        ends.findIndex((end) => depth <= end.depth),
      );
      const before = ends[i - 1] ?? { time: 0, depth: 0 };
      const share = (depth - before.depth) / (ends[i].depth - before.depth);
      return (before.time + share * (ends[i].time - before.time)) / pace;
    },
    /**
     * The part of the way that has one speed.
     * @param {number} elapsed
     */
    leg(elapsed) {
      const i = ends.findIndex((end) => elapsed * pace < end.time);
      if (i < 0) return null;
      const { time, depth } = ends[i - 1] ?? { time: 0, depth: 0 };
      const speed = (1000 * pace * (ends[i].depth - depth)) / (ends[i].time - time);
      return { speed, to: ends[i].depth }; // blocks a second
    },
    /** @param {number} elapsed */
    at(elapsed) {
      const time = elapsed * pace;
      const i = ends.findIndex((end) => time < end.time);
      if (i < 0) return Infinity;
      const before = ends[i - 1] ?? { time: 0, depth: 0 };
      const share = (time - before.time) / (ends[i].time - before.time);
      return before.depth + share * (ends[i].depth - before.depth);
    },
  };
}
