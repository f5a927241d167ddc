// What the workers share that page.mjs lets train: requests {id, call, …}, answers {id, result}.

/** @param {Record<string, (request: any) => any>} calls */
export function serve(calls) {
  self.onmessage = async ({ data: { id, call, ...request } }) => {
    try {
      self.postMessage({ id, result: await calls[call](request) });
    } catch (error) {
      self.postMessage({ id, error: String(error) });
    }
  };
}
