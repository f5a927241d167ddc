// What make_films.py puts into a page that it films: acts, animations that wait, an encoder.

"use strict";

{
  /** @type {WeakMap<Animation, number>} */
  const held = new WeakMap(); // milliseconds of an animation
  /** @type {{pictures: [boolean, string][], config: string, error: string}} */
  const made = { pictures: [], config: "", error: "" };
  /** @type {any} */
  const base64 = (/** @type {any} */ bytes) => bytes.toBase64();

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

  const encoder = new VideoEncoder({
    output(chunk, { decoderConfig } = {}) {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      made.pictures.push([chunk.type === "key", base64(data)]);
      const config = /** @type {ArrayBuffer | undefined} */ (decoderConfig?.description);
      if (config) made.config = base64(new Uint8Array(config));
    },
    error: (error) => (made.error = String(error)),
  });

  Object.assign(globalThis, {
    film: {
      /**
       * As large as fits; a phone scrolls.
       * @param {HTMLElement} element
       */
      begin(element) {
        element.classList.add("filmed");
        filmed = element;
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

      /** @param {[string, number, number]} picture  JPEG, its number, how many make a second */
      async add([jpeg, n, rate]) {
        const blob = await (await fetch(`data:image/jpeg;base64,${jpeg}`)).blob();
        const frame = new VideoFrame(await createImageBitmap(blob), {
          timestamp: (n * 1e6) / rate,
        });
        const { displayWidth: width, displayHeight: height } = frame;
        const how = { width, height, framerate: rate, bitrate: 2.5e6, avc: { format: "avc" } };
        if (!n)
          encoder.configure(
            /** @type {any} */ ({ ...how, codec: "avc1.640028", latencyMode: "realtime" }),
          );
        encoder.encode(frame, { keyFrame: n % (2 * rate) === 0 });
        frame.close();
      },

      async end() {
        await encoder.flush();
        return made;
      },
    },
  });
}
