// The site's service worker (site/gpt2_site/offline.py): pages that were opened open again without a
// network. The network comes first, so that nobody reads an old book. What is stored is at most the
// site once, without models of many megabytes, for which pages have a storage of their own.

import { clientsClaim } from "workbox-core";
import { registerRoute, setCatchHandler } from "workbox-routing";
import { NetworkFirst } from "workbox-strategies";

const worker = /** @type {any} */ (globalThis);
const { scope } = worker.registration;
const PREFIX = `gpt2-edu ${scope} `; // other books may have the same origin
const cacheName = PREFIX + worker.gpt2Site;

/** An address without what a reader has set: one file, one place. */
const placeOf = (/** @type {string} */ url) => url.replace(/[?#].*/, "");

const files = new NetworkFirst({
  cacheName,
  matchOptions: { ignoreVary: true },
  plugins: [
    {
      cacheKeyWillBeUsed: async ({ request }) => placeOf(request.url),
      cacheWillUpdate: async ({ response }) => (response.status === 200 ? response : null),
    },
  ],
});
registerRoute(
  ({ url: { href } }) => href.startsWith(scope) && !/\.bin$/.test(placeOf(href)),
  files,
);

const UNSTORED = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not stored</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<body style="max-width: 34rem; margin: 3rem auto; padding: 0 1rem; font: 1.1rem/1.6 serif">
<h1>This page is not stored</h1>
<p>There is no network, and this browser stores a page of the book only when it is opened.
<p><a href="${scope}book/index.html">The first page</a></html>`;
const headers = { "Content-Type": "text/html" };
setCatchHandler(async ({ request }) =>
  request.mode === "navigate" ? new Response(UNSTORED, { status: 503, headers }) : Response.error(),
);

// A new version begins with an empty store.
async function forget() {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.map((name) => name === cacheName || caches.delete(name)));
}
addEventListener("activate", (event) => /** @type {ExtendableEvent} */ (event).waitUntil(forget()));
worker.skipWaiting();
clientsClaim();
