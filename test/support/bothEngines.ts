/** One directory, open in both engines while a test file runs. */

import { DirectoryNamespace } from "tiltyard";
import { type Connection, connect } from "tiltyard-reference/session.js";
import { afterAll } from "vitest";
import { makeTempDir } from "./tempDir.js";

export interface BothEngines {
  readonly root: string;
  readonly namespace: DirectoryNamespace;
  readonly connection: Connection;
}

/** Call it once per file, outside of tests. By default the reference sees new versions at once. */
export async function openBothEngines(
  options: object = { readConsistencyInterval: 0 },
): Promise<BothEngines> {
  const root = await makeTempDir();
  const namespace = new DirectoryNamespace({ root, durability: "none" });
  const connection = await connect(root, options);
  afterAll(async () => {
    connection.close();
    await namespace.close();
  });
  return { root, namespace, connection };
}
