/** Readers of tables for the drop-in's queries, without a connection. */

import type { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import type { TableReader } from "../../src/lancedb/tableReader.js";

/** Returns a reader of a table of the root. @param version version that it shows; the latest by default */
export function readerOf(namespace: DirectoryNamespace, name: string, version?: number): TableReader {
  const shown = { id: [name], ...(version !== undefined && { version }) };
  return {
    name,
    read: async (call) => call(namespace, shown),
    translate: (error) => error as Error,
    schema: async () => (await namespace.queryTable(shown)).schema,
    snapshot: async () => readerOf(namespace, name, (await namespace.describeTable(shown)).version),
  };
}
