/** `tiltyard ls`: namespaces and tables. */

import { type DirectoryNamespace, NamespaceError, parseIdentifier } from "tiltyard";
import { nameOfId, wireId } from "../call/call.js";
import type { CommandSpec } from "../call/command.js";
import { EXIT } from "../call/exitCodes.js";
import { printJson, printNote, printTable } from "../output/print.js";
import { countOf, countText, sizeText, timeText } from "../output/text.js";

/** Versions that are counted; a table with more shows this number and a plus. */
const MAX_VERSIONS = 10_000;
/** Tables that are looked at together. */
const TOGETHER = 8;

/** State of a listed table. */
interface ListedTable {
  readonly name: string;
  readonly id: string;
  readonly rows?: number;
  readonly bytes?: number;
  readonly fragments?: number;
  readonly indexes?: number;
  readonly versions?: number;
  readonly hasMoreVersions?: boolean;
  readonly latestVersion?: number;
  readonly changedAt?: string;
  readonly isOnlyDeclared?: true;
  readonly error?: string;
}

export const lsCommand: CommandSpec = {
  usage: "ls [namespace]",
  summary: "List namespaces and tables, with rows, bytes and versions",
  examples: ["tiltyard ls --root ./data", "tiltyard ls sales --json"],
  async run(call, start) {
    const namespace = await call.namespace();
    const prefix = start === undefined ? [] : start.split(/[/$]/).filter((part) => part !== "");
    if (prefix.length > 0) await namespace.namespaceExists({ id: prefix });
    const namespaces = await namespacesBelow(namespace, prefix);
    const all = (await namespace.listAllTables({ signal: call.signal })).tables.map((id) =>
      parseIdentifier(id),
    );
    const ids = all.filter((id) => prefix.every((part, index) => part === id[index]));
    const tables: ListedTable[] = [];
    for (let first = 0; first < ids.length; first += TOGETHER) {
      const some = ids.slice(first, first + TOGETHER);
      tables.push(...(await Promise.all(some.map((id) => listed(namespace, id, call.signal)))));
    }
    if (call.options.json === true) {
      printJson(call.terminal, { root: call.root, namespaces: namespaces.map(nameOfId), tables });
    } else if (namespaces.length + tables.length === 0) {
      printNote(call.terminal, `no tables in ${call.root}`);
    } else {
      printTable(
        call.terminal,
        [
          { name: "name" },
          ...["rows", "size", "versions", "indexes"].map((name) => ({ name, isNumber: true })),
          { name: "changed" },
        ],
        [...namespaces.map((id) => [`${nameOfId(id)}/`]), ...tables.map(rowOf)].map((row) =>
          Array.from({ length: 6 }, (_, index) => row[index]),
        ),
      );
    }
    const failed = tables.filter(({ error }) => error !== undefined).length;
    if (failed === 0) return;
    printNote(
      call.terminal,
      `${countOf(failed, "table")} cannot be read; "tiltyard verify" tells what is damaged`,
    );
    call.exitCode = EXIT.failed;
  },
};

const rowOf = (table: ListedTable): (string | undefined)[] => {
  const { name, rows = 0, bytes = 0, versions = 0, indexes = 0, changedAt = "" } = table;
  if (table.error !== undefined) return [name, "", "", "", "", `cannot be read: ${table.error}`];
  if (table.isOnlyDeclared === true) return [name, "", "", "", "", "only declared"];
  return [
    name,
    countText(rows),
    sizeText(bytes),
    `${countText(versions)}${table.hasMoreVersions === true ? "+" : ""}`,
    countText(indexes),
    timeText(Date.parse(changedAt)),
  ];
};

async function namespacesBelow(namespace: DirectoryNamespace, start: readonly string[]): Promise<string[][]> {
  const ids: string[][] = [];
  const { namespaces } = await namespace.listNamespaces({ id: start });
  for (const name of namespaces) {
    const id = [...start, name];
    ids.push(id, ...(await namespacesBelow(namespace, id)));
  }
  return ids;
}

async function listed(
  namespace: DirectoryNamespace,
  id: readonly string[],
  signal: AbortSignal,
): Promise<ListedTable> {
  const names = { name: nameOfId(id), id: wireId(id) };
  try {
    const { isOnlyDeclared } = await namespace.describeTable({ id, signal });
    if (isOnlyDeclared) return { ...names, isOnlyDeclared };
    const stats = await namespace.getTableStats({ id, signal });
    const page = { id, signal, limit: MAX_VERSIONS, descending: true };
    const { versions, pageToken } = await namespace.listTableVersions(page);
    return {
      ...names,
      rows: stats.numRows,
      bytes: stats.totalBytes,
      fragments: stats.fragmentStats.numFragments,
      indexes: stats.numIndices,
      versions: versions.length,
      ...(pageToken !== undefined && { hasMoreVersions: true }),
      latestVersion: versions[0].version,
      changedAt: new Date(versions[0].timestampMillis).toISOString(),
    };
  } catch (error) {
    if (!(error instanceof NamespaceError) || signal.aborted) throw error;
    return { ...names, error: error.message };
  }
}
