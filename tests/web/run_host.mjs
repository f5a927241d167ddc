// Sends a host the requests of a test, some only when an answer of a kind has come, and prints all
// answers: {requests: [{after?: "token of 3", …}]}. Files of a model are named by their folder.

import { readFileSync, writeFileSync } from "node:fs";
import { Host } from "../../web/host.mjs";
import { inMemory } from "../../web/load.mjs";

const { requests } = JSON.parse(readFileSync(0, "utf8"));
const answers = [];
const later = [];
let open = requests.filter(({ call }) => call !== "cancel").length;

const host = new Host((answer) => {
  answers.push(JSON.parse(JSON.stringify(answer, (_, v) => (ArrayBuffer.isView(v) ? [...v] : v))));
  const kind = Object.keys(answer).find((key) => key !== "id");
  if (kind === "result" || kind === "error") open--;
  for (const request of later.splice(0)) {
    if (request.after === `${kind} of ${answer.id}`) send(request);
    else later.push(request);
  }
  if (open === 0) writeFileSync(1, JSON.stringify(answers));
});

for (const request of requests) {
  if (request.after) later.push(request);
  else send(request);
}

function send({ folder, ...request }) {
  if (folder) {
    request.config = readFileSync(`${folder}/config.json`, "utf8");
    request.weights = inMemory(readFileSync(`${folder}/model.safetensors`));
  }
  host.receive(request);
}
