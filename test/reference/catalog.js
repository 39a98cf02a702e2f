/**
 * The reference's directory catalog as an oracle: one call on a namespace connection of its own, so that what it
 * sees is what lies on disk. Rows go in and come out as plain objects.
 */

import { connectNamespace } from "@lancedb/lancedb";

/** A connection to keep, for benchmarks and races. */
export const openCatalog = (root, properties = {}) => connectNamespace("dir", { root, ...properties });

async function withCatalog(root, use) {
  const connection = await openCatalog(root);
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

const pagesOf = async (list) => {
  const names = [];
  for (let pageToken; ; ) {
    const page = await list(pageToken);
    names.push(...page.items);
    pageToken = page.pageToken ?? undefined;
    if (pageToken === undefined) return names;
  }
};

/** Runs a step on a connection; what races and tests do by name. */
export async function runStep(connection, [operation, path, argument]) {
  const namespace = path.slice(0, -1);
  const name = path[path.length - 1];
  switch (operation) {
    case "createNamespace":
      return connection.createNamespace(path, { properties: argument });
    case "dropNamespace":
      return connection.dropNamespace(path);
    case "describeNamespace":
      return (await connection.describeNamespace(path)).properties ?? {};
    case "listNamespaces":
      return pagesOf(async (pageToken) => {
        const page = await connection.listNamespaces(path, { pageToken, limit: argument });
        return { items: page.namespaces, pageToken: page.pageToken };
      });
    case "listTables":
      return pagesOf(async (pageToken) => {
        const page = await connection.listTables(path, { pageToken, limit: argument });
        return { items: page.tables, pageToken: page.pageToken };
      });
    case "createTable": {
      const table = await connection.createTable(name, argument, namespace);
      table.close();
      return undefined;
    }
    case "addRows": {
      const table = await connection.openTable(name, namespace);
      await table.add(argument);
      table.close();
      return undefined;
    }
    case "readRows": {
      const table = await connection.openTable(name, namespace);
      const rows = await table.query().toArray();
      table.close();
      return rows.map((row) => ({ ...row }));
    }
    case "dropTable":
      return connection.dropTable(name, namespace);
    default:
      throw new Error(`unknown step ${operation}`);
  }
}

/** One step on a fresh connection. */
export const catalogStep = (root, ...step) => withCatalog(root, (connection) => runStep(connection, step));
