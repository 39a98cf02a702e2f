/** Method names of other table libraries, with the call to write instead. */

import { InvalidInputError } from "../errors.js";

/** Calls to write instead, by the method names of a LanceDB connection. */
export const NAMESPACE_CALLS: Readonly<Record<string, string>> = {
  openTable: "table(name), which needs no await",
  createEmptyTable: "createTable({ id, schema }, [])",
  tableNames: "listTables(), or listAllTables()",
  dropAllTables: "dropTable({ id }) for each table",
  query: "queryTable({ id, … }), or table(name).query()",
  insert: "insertIntoTable({ id }, rows)",
  listVersions: "listTableVersions({ id })",
};

/** Calls to write instead, by the method names of a LanceDB table. */
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
 * Adds methods under names of other libraries. They throw an error that names the call to write.
 * @param receiver name of the object in that call
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
    // A hidden property that only a call finds: not enumerable, and unknown to the compiler.
    Object.defineProperty(prototype, name, { value, configurable: true });
  }
}
