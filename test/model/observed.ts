/** Reads the state of a namespace through the engine, in the model's form. */

import type { DirectoryNamespace } from "tiltyard";
import type { Content, State, TableState } from "./model.js";

/** Returns the keys of all namespaces, sorted. */
export async function namespacesOf(ns: DirectoryNamespace): Promise<string[]> {
  const namespaces: string[] = [];
  const visit = async (path: string[]): Promise<void> => {
    for (const name of (await ns.listNamespaces({ id: path })).namespaces) {
      namespaces.push([...path, name].join("$"));
      await visit([...path, name]);
    }
  };
  await visit([]);
  return namespaces.sort();
}

export async function stateOf(ns: DirectoryNamespace): Promise<State> {
  const namespaces = await namespacesOf(ns);
  const tables: Record<string, TableState> = {};
  for (const key of [...(await ns.listAllTables()).tables].sort()) {
    tables[key] = await tableStateOf(ns, key.split("$"));
  }
  return { namespaces, tables };
}

async function tableStateOf(ns: DirectoryNamespace, id: string[]): Promise<TableState> {
  const branches: Record<string, Record<string, Content>> = { main: await historyOf(ns, id) };
  for (const branch of Object.keys((await ns.listTableBranches({ id })).branches)) {
    branches[branch] = await historyOf(ns, id, branch);
  }
  const listed = (await ns.listTableTags({ id })).tags;
  const tags = Object.entries(listed).map(([tag, { branch = "main", version }]) => [
    tag,
    { branch, version },
  ]);
  return { branches, tags: Object.fromEntries(tags) };
}

async function historyOf(
  ns: DirectoryNamespace,
  id: string[],
  branch?: string,
): Promise<Record<string, Content>> {
  const history: Record<string, Content> = {};
  if ((await ns.describeTable({ id })).isOnlyDeclared) return history;
  for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
    history[version] = await contentAt(ns, id, version, branch);
  }
  return history;
}

export async function contentAt(
  ns: DirectoryNamespace,
  id: string[],
  version: number,
  branch?: string,
): Promise<Content> {
  const rows = await (await ns.queryTable({ id, branch, version, withRowId: true })).toArrow();
  const ids = new Set(rows.getChild("_rowid"));
  if (ids.size !== rows.numRows) throw new Error(`${id} ${branch} ${version}: two rows have one id`);
  const [, ...others] = rows.schema.names.filter((name) => name !== "_rowid") as string[];
  return {
    rows: Array.from(rows.getChild("v") ?? [], Number),
    columns: others.map((name) => [name, Array.from(rows.getChild(name) ?? [])]),
    metadata: Object.fromEntries(rows.schema.fields[0].metadata),
  };
}
