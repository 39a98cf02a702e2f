/** Calls that other libraries of tables have, and what they are called here. */

import { InvalidInputError } from "../errors.js";

/** What to write instead, by the names that LanceDB's client gives to methods of a connection. */
export const NAMESPACE_CALLS: Readonly<Record<string, string>> = {
  openTable: "table(name), which needs no await",
  createEmptyTable: "createTable({ id, schema }, [])",
  tableNames: "listTables(), or listAllTables()",
  dropAllTables: "dropTable({ id }) for each table",
  cloneTable: "createTableBranch({ id, name })",
  query: "queryTable({ id, … }), or table(name).query()",
  insert: "insertIntoTable({ id }, rows)",
  listVersions: "listTableVersions({ id })",
};

/** The same for methods of a table. */
export const TABLE_CALLS: Readonly<Record<string, string>> = {
  add: "insert(rows)",
  append: "insert(rows)",
  overwrite: 'insert(rows, { mode: "Overwrite" })',
  upsert: 'mergeInsert("id", rows, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true })',
  toArray: "scan().toArray()",
  toArrow: "scan().toArrow()",
  toIPC: "scan().toIPC()",
  rows: "scan().rows()",
  where: "query().where(filter)",
  filter: "query().where(filter)",
  select: "query().select(columns)",
  limit: "query().limit(count)",
  orderBy: "query().orderBy(column)",
  vectorSearch: "search({ vector })",
  count: "countRows()",
  checkout: "ns.table(id, { version })",
  checkoutLatest: "ns.table(id)",
  listVersions: "versions()",
  listIndices: "indexes()",
  listIndexes: "indexes()",
  close: "ns.close(), as a handle holds nothing open",
};

/**
 * Lets calls under names that a class does not have fail with a sentence that says what to write.
 * @param receiver what the class is called in such a sentence
 */
export function explainOtherNames(
  prototype: object,
  receiver: string,
  calls: Readonly<Record<string, string>>,
): void {
  for (const [name, instead] of Object.entries(calls)) {
    const value = () => {
      const call = instead.startsWith("ns.") ? instead : `${receiver}.${instead}`;
      throw new InvalidInputError(`${receiver}.${name}: there is no such method; write ${call}`);
    };
    // Not enumerable, and unknown to the compiler: only a call finds it.
    Object.defineProperty(prototype, name, { value, configurable: true });
  }
}
