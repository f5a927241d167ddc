// How a worker hears messages, and a page the reader, while it computes.

/** Let the messages that have come meanwhile be heard. */
export function nextTask() {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(0);
  });
}
