/** Several LanceDB processes commit through one server with managed versioning, and lose no commit. */

import type { ChildProcess } from "node:child_process";
import { connectNamespace } from "tiltyard-reference/session.js";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { afterEach, expect, it } from "../support/fixtures.js";
import { startRestServer } from "../support/restServer.js";

const PROCESSES = 8;
const APPENDS = runsOf("MANAGED_APPENDS", 20);

let clients: ChildProcess[] = [];
afterEach(() => {
  for (const client of clients) client.kill();
});

it(`${PROCESSES} clients append ${APPENDS} times each`, async ({ ns }) => {
  await using server = await startRestServer(ns, { managedVersioning: true });
  const connection = await connectNamespace("rest", { uri: server.url });
  await connection.createTable("t", [{ v: -1 }]);
  clients = Array.from({ length: PROCESSES }, (_, client) =>
    startProcess("namespaceClient.mjs", [server.url, "t", String(client), String(APPENDS)]),
  );
  await Promise.all(clients.map(nextMessage));
  const done = clients.map(nextMessage);
  for (const client of clients) client.send("go");
  await Promise.all(done);
  expect(await Promise.all(clients.map(exitOf))).toEqual(clients.map(() => 0));

  const id = ["t"];
  const { versions } = await ns.listTableVersions({ id });
  expect(versions.map(({ version }) => version)).toEqual(
    Array.from({ length: PROCESSES * APPENDS + 1 }, (_, index) => index + 1),
  );
  const rows = await (await ns.queryTable({ id })).toArrow();
  const values = Array.from(rows.getChild("v") ?? [], Number).sort((a, b) => a - b);
  const wanted = [-1];
  for (let otherClient = 0; otherClient < PROCESSES; otherClient++) {
    for (let step = 0; step < APPENDS; step++) wanted.push(otherClient * 1000 + step);
  }
  expect(values).toEqual(wanted.sort((a, b) => a - b));
  // All commits went through the server.
  expect(server.handler.counters.byOperation.createTableVersion).toBeGreaterThanOrEqual(wanted.length);
  connection.close();
});
