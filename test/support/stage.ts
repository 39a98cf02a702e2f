/** A fresh directory for each test of a file, with namespaces that close after the test. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Table, tableFromIPC } from "apache-arrow";
import { DirectoryNamespace, type RowsInput } from "tiltyard";
import { beforeEach } from "vitest";
import type { NamespaceOptions } from "./fixtures.js";
import { reference } from "./reference.js";
import { makeTempDir } from "./tempDir.js";

export interface Stage {
  readonly root: string;
  open(options?: NamespaceOptions): DirectoryNamespace;
  /** Rows of the table `t` in the reference. */
  rowsThere(): Promise<Table>;
  /** Names of the checkpoints of backfills of the table `t`. */
  checkpoints(): Promise<string[]>;
}

/** Call it once per file, outside of tests. */
export function freshStage(): Stage {
  let root: string;
  const opened: DirectoryNamespace[] = [];
  beforeEach(async () => {
    root = await makeTempDir();
    return async () => {
      for (const ns of opened.splice(0)) await ns.close();
    };
  });
  return {
    get root() {
      return root;
    },
    open(options = {}) {
      const ns = new DirectoryNamespace({ root, durability: "none", ...options });
      opened.push(ns);
      return ns;
    },
    rowsThere: async () => tableFromIPC(await reference.readTable(root, "t")),
    checkpoints: () => readdir(join(root, "t.lance", "_tiltyard", "checkpoints")).catch(() => []),
  };
}

/** Creates a table with a fragment for each part. */
export async function createParts(
  ns: DirectoryNamespace,
  id: string[],
  parts: Iterable<RowsInput>,
): Promise<void> {
  let isFirst = true;
  for (const rows of parts) {
    if (isFirst) await ns.createTable({ id }, rows);
    else await ns.insertIntoTable({ id }, rows);
    isFirst = false;
  }
}
