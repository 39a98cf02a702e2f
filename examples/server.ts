/**
 * A server for a directory of tables: `TILTYARD_API_KEY=… npm run serve`. Prints its address and three calls
 * to try.
 *
 * Environment: `TILTYARD_API_KEY` (needed), `TILTYARD_ROOT` (default ./serve-data), `PORT` (default 8080).
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { attachProblemAnswers, createRestHandler, toNodeListener } from "tiltyard/rest";

const { TILTYARD_API_KEY: apiKey, TILTYARD_ROOT: root = "serve-data", PORT: port = "8080" } = process.env;
if (apiKey === undefined || apiKey === "") {
  console.error("Set TILTYARD_API_KEY: callers send it as x-api-key.");
  process.exit(1);
}

const namespace = new DirectoryNamespace({ root: resolve(root) });
const handler = createRestHandler(namespace, {
  auth: { apiKeys: [apiKey] },
  log: ({ method, path, status, durationMs, error }) => {
    console.log(`${method} ${path} ${status} ${durationMs.toFixed(1)} ms`);
    if (status >= 500) console.error(error);
  },
});
// Node's own bounds are wider than the handler's, whose refusals say what is wrong.
const server = attachProblemAnswers(createServer({ maxHeaderSize: 2 ** 16 }, toNodeListener(handler)));
server.requestTimeout = 0;

server.listen(Number(port), "127.0.0.1", () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const curl = (path: string, body: string) =>
    `curl -X POST ${url}${path} -H "x-api-key: $TILTYARD_API_KEY" -H 'content-type: application/json' -d '${body}'`;
  console.log(`Serving ${resolve(root)} at ${url}. Try, in a shell that has TILTYARD_API_KEY:\n`);
  console.log(curl("/v1/table/trees/declare", "{}"));
  console.log(curl("/v1/table/trees/describe", "{}"));
  console.log(curl("/v1/table/trees/exists", "{}").replace("curl", "curl -i"));
  console.log(`\nAll operations: ${url}/openapi.json (with the key). Stop with Ctrl-C.`);
});

async function stop(): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  await handler.close();
  // The last answers may still be on their way: whoever asked for a change wants to know that it was made.
  const sent = setInterval(() => server.closeIdleConnections(), 20);
  const late = setTimeout(() => server.closeAllConnections(), 2000);
  await closed;
  clearInterval(sent);
  clearTimeout(late);
  await namespace.close();
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
