/**
 * Support for clients that commit through the server: answers that tell them to, and branches whose first
 * version is published before the branch is registered.
 */

import type { Route } from "../wire/route.js";
import { callEngine, type Dialect, type EngineCall } from "./dialect.js";

const TELLING: ReadonlySet<Route["operation"]> = new Set(["declareTable", "describeTable"]);
const OF_VERSIONS: ReadonlySet<Route["operation"]> = new Set([
  "createTableVersion",
  "describeTableVersion",
  "listTableVersions",
]);

/** Returns a dialect whose clients commit through the server. */
export function managedVersions(dialect: Dialect): Dialect {
  return { ...dialect, perform: (call) => performManaged(call, dialect) };
}

async function performManaged(call: EngineCall, dialect: Dialect): Promise<unknown> {
  const { operation } = call.route;
  if (OF_VERSIONS.has(operation)) {
    return callEngine({ ...call, request: { ...call.request, unregisteredBranch: true } });
  }
  const answer = await dialect.perform(call);
  return TELLING.has(operation) ? { ...(answer as object), managedVersioning: true } : answer;
}
