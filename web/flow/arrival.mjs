// What the first page does by itself, once a visit: a pass plays as soon as it can be seen, and a while
// later one word of the text changes. Any touch ends it.

import { bare, fixed } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { fling } from "./fling.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Player } from "./player.mjs" */

const TOUCHES = ["pointerdown", "wheel", "keydown"]; // a reader who takes over
const QUICK = 2; // over in five seconds
const TURNED = 0.9; // there is more to be seen
const REST = 4500; // milliseconds until a word changes
const KEY = 110; // for a letter
const WIDE = 800; // px of a picture that turns
const VISIT = "gpt2-edu played";

/**
 * @param {Player} player
 * @param {{passes: Pass[], field: HTMLInputElement, begin: (changes: {text: string}) => void, lines: import("./lines.mjs").Lines,
 *   warm: () => void, turn: ((may: () => boolean) => Promise<boolean>) | null}} more
 *   `passes`: of the text that is shown, and of the other; `warm`: fetches what goes deeper;
 *   `turn`: shows the picture in space, if it may
 */
export function arrive(player, { passes: [one, other], field, begin, lines, warm, turn }) {
  const { state, stage } = player;
  let touched = false;
  const rests = () => !player.began && !state.get("place") && state.get("station") < 0;
  const run = async () => {
    if (still() || !rests() || location.search) return; // a link shows what it says
    const free = () => !touched && rests();
    const wide = stage.room >= WIDE && matchMedia("(pointer: fine)").matches;
    const take = (/** @type {Event} */ { target }) => {
      const ends = !player.buttons.some((one) => one === target); // which end it by themselves
      if (!touched && player.began && ends) {
        player.stop();
        stage.showDepth(Infinity);
        player.tell(Infinity);
      }
      touched = true;
    };
    for (const touch of TOUCHES) addEventListener(touch, take, { passive: true });
    const turned = turn && wide && (await turn(free));
    const visit = turned ? `${VISIT} in space` : VISIT;
    try {
      if (sessionStorage[visit]) return;
      sessionStorage[visit] = "1";
    } catch {
      return; // without storage it would play on every page
    }
    if (!free()) return;
    if (await player.play(turned ? TURNED : QUICK, true)) await fling(stage);
    warm();
    await wait(REST);
    const here = () => stage.element.isConnected; // no other model has come
    const same = () => !touched && here() && rests() && state.get("text") === one.text;
    if (other && same() && !document.hidden && (await retype(field, one.text, other.text, same))) {
      lines.changed = { text: other.text, says: saysOf(one, other) };
      begin({ text: other.text });
    }
    for (const touch of TOUCHES) removeEventListener(touch, take);
  };
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    run();
  });
  seen.observe(stage.element);
}

/**
 * What came of a word that was changed.
 * @param {Pass} one
 * @param {Pass} other
 */
function saysOf(one, other) {
  const at = one.ids.findIndex((id, i) => id !== other.ids[i]);
  const [[a, x], [b, y]] = [one, other].map(({ tokens, next: [{ name, p }] }) =>
    [tokens[at], `${name} (${fixed(p, 2)})`].map(bare),
  );
  return `${a} became ${b}, and ${x} became ${y}. Now you: type a text.`;
}

/**
 * As if somebody typed: what differs is deleted and written, letter by letter.
 * @param {HTMLInputElement} field
 * @param {string} from
 * @param {string} to
 * @param {() => boolean} goes  false: a reader has taken over
 */
async function retype(field, from, to, goes) {
  const most = Math.min(from.length, to.length);
  let [a, b] = [0, 0];
  while (a < most && from[a] === to[a]) a++;
  while (b < most - a && from.at(-1 - b) === to.at(-1 - b)) b++;
  const [head, tail] = [from.slice(0, a), to.slice(to.length - b)];
  const [old, now] = [from, to].map((text) => text.slice(a, text.length - b));
  const steps = [
    ...Array.from(old, (_, i) => old.slice(0, old.length - 1 - i)),
    ...Array.from(now, (_, i) => now.slice(0, i + 1)),
  ];
  for (const step of steps) {
    if (!goes()) {
      field.value = from;
      return false;
    }
    field.value = head + step + tail;
    await wait(KEY);
  }
  return goes();
}

/** @param {number} time  milliseconds */
const wait = (time) => new Promise((done) => setTimeout(done, time));
