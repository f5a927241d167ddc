// What make_films.py puts into a page that it films: acts, and animations that wait.

"use strict";

{
  /** @type {WeakMap<Animation, number>} */
  const held = new WeakMap(); // milliseconds of an animation
  /** @type {HTMLElement} */
  let filmed = document.body;
  let widest = 1;

  /**
   * What has grown is seen from further away.
   * @param {number} share  of the way there
   */
  function fit(share) {
    if (innerWidth < 640) return;
    const now = Number(filmed.style.zoom || 1);
    const goal = Math.min(widest, (0.96 * innerHeight) / filmed.scrollHeight);
    if (share === 1 || goal < 0.99 * now) filmed.style.zoom = String(now + share * (goal - now));
  }

  Object.assign(globalThis, {
    film: {
      /**
       * As large as fits; a phone scrolls.
       * @param {HTMLElement} element
       */
      begin(element) {
        element.classList.add("filmed");
        filmed = element;
        if (innerWidth < 640) element.scrollIntoView();
        widest = element.localName === "gpt2-flow" ? 1 : innerWidth / element.offsetWidth;
        fit(1);
      },

      /**
       * Press the button that begins so, or set the page's state.
       * @param {[Element, string | object]} act
       */
      act([element, what]) {
        if (typeof what !== "string") return gpt2Base.state.set(what);
        const buttons = [...element.querySelectorAll("button")];
        const button = buttons.find(({ textContent }) => textContent?.trim().startsWith(what));
        if (!button) throw new Error(`There is no button ${what}.`);
        button.click();
      },

      /**
       * Every animation goes on by so many milliseconds.
       * @param {number} ms
       */
      move(ms) {
        fit(0.15);
        for (const one of document.getAnimations()) {
          if (!(one.timeline instanceof DocumentTimeline) || !one.effect) continue;
          const time = held.has(one) ? (held.get(one) ?? 0) + ms : 0;
          one.pause();
          held.set(one, time);
          if (time >= Number(one.effect.getComputedTiming().endTime)) one.finish();
          else one.currentTime = time;
        }
      },
    },
  });
}
