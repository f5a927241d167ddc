// worker.mjs, but what is written is recorded: every tensor of every step. (A page asks for that
// with `run`, pass by pass; here only the recording itself is measured.)

import { stream } from "../../web/generation.mjs";
import { Host } from "../../web/host.mjs";
import { inMemory } from "../../web/load.mjs";
import { Tape } from "../../web/tape.mjs";

class RecordingHost extends Host {
  async stream(model, { id, ids, n, settings }) {
    const tape = new Tape();
    const written = [];
    for await (const { id: token } of stream(model, ids, n, { ...settings, tape })) {
      written.push(token);
      this.post({ id, token });
    }
    return { ids: written, recorded: [...tape.noted.keys()] };
  }
}

const host = new RecordingHost((answer) => self.postMessage(answer));
self.onmessage = async ({ data: { weights, ...request } }) => {
  if (weights) request.weights = inMemory(new Uint8Array(await weights.arrayBuffer()));
  host.receive(request);
};
