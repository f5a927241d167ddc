// What happens to a page while it trains: it is hidden, is seen again, or its computer sleeps.

const SECOND = 1000; // milliseconds
const SLEPT = 20 * SECOND;

/**
 * @param {{hidden: () => void, shown: () => void, second: () => void,
 *   slept: (seconds: number) => void}} on  second: while the page is seen
 * @returns {() => void}  what ends it
 */
export function watch(on) {
  let last = Date.now();
  const timer = setInterval(() => {
    const gap = Date.now() - last;
    last = Date.now();
    if (document.hidden) return; // where timers are slowed down
    if (gap > SLEPT) on.slept(Math.round(gap / SECOND));
    else on.second();
  }, SECOND);
  const changed = () => {
    last = Date.now();
    if (document.hidden) on.hidden();
    else on.shown();
  };
  document.addEventListener("visibilitychange", changed);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", changed);
  };
}
