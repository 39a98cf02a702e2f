/** A program that uses the types of handles; it compiles, and expects errors for wrong uses. */

export const TYPES_PROGRAM = `
import { DirectoryNamespace, type Scan, type SignalOptions, type TableHandleOptions } from "tiltyard";

interface Order { id: number; city: string | null; price: number; a: { b: string } }
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
/** Compiles if the value has exactly this type. */
const same = <Wanted,>() => <Given,>(_given: Given, ..._differs: Same<Wanted, Given> extends true ? [] : [never]) => {};

export async function program(signal: AbortSignal | undefined, at: number | undefined, orders: Order[]) {
  const ns = new DirectoryNamespace({ root: new URL("file:///x"), durability: undefined, lock: { staleMs: undefined } });
  const options: TableHandleOptions = { branch: undefined, version: at };
  const table = ns.table<Order>("orders", options);

  // Absent members may be undefined, and objects of interfaces are rows.
  const call: SignalOptions = { signal };
  await table.insert(orders, { mode: "Overwrite", signal });
  await table.create(orders, { ...call, schema: undefined });
  await ns.createTable({ id: "orders", signal, mode: "exist_ok", properties: undefined }, orders);
  await ns.queryTable({ id: ["a", "b"], signal, version: at, limit: undefined, filter: undefined });
  await table.mergeInsert("id", orders, { whenMatchedUpdateAll: true, timeout: undefined });
  await table.createIndex("id", { indexType: "btree", name: undefined });
  await ns.listTables({ pageToken: (await ns.listTables()).pageToken });

  // Rows are what the handle says, or what is selected of them.
  same<Order[]>()(await table.scan().toArray());
  same<Order[]>()(await table.scan({ filter: "id > 7", signal }).toArray());
  same<{ id: number; city: string | null }[]>()(await table.scan({ columns: ["id", "city"] }).toArray());
  same<{ id: number; _rowid: bigint; "a.b": string }[]>()(
    await table.scan({ columns: ["id", "_rowid", "a.b"] }).toArray(),
  );
  same<{ town: string | null; gross: unknown }[]>()(
    await table.scan({ columns: { columnAliases: { town: "city", gross: "price * 2" } } }).toArray(),
  );
  const names: string[] = ["id"];
  same<Record<string, unknown>[]>()(await ns.table("orders").scan({ columns: names }).toArray());
  for await (const row of table.scan({ columns: ["price"] }).rows()) same<number>()(row.price);
  same<Record<string, unknown>[]>()(await ns.table("orders").scan().toArray());

  const query = table.query({ signal }).where("id > 7").orderBy("id").limit(3);
  same<Order[]>()(await query.toArray());
  same<{ price: number }[]>()(await query.select(["price"]).offset(1).toArray());
  const scan: Scan<Order> = query;

  // What searches add stays, whichever columns are selected; of two searches, either may not have found the row.
  const matching = (await query.matching("oak").select(["id"]).withRowId().toArray())[0]!;
  same<number>()(matching.id);
  same<number>()(matching._score);
  same<bigint>()(matching._rowid);
  const near = (await query.select(["id"]).nearestTo([1]).toArray())[0]!;
  same<number>()(near.id);
  same<number>()(near._distance);
  for (const both of [query.nearestTo([1]).matching("oak"), query.matching("oak").nearestTo([1])]) {
    const found = (await both.select(["city"]).rerank(({ score }) => score ?? 0).toArray())[0]!;
    same<string | null>()(found.city);
    same<number | null>()(found._distance);
    same<number | null>()(found._score);
    same<number>()(found._relevance_score);
  }

  // @ts-expect-error there is no such option
  table.scan({ condition: "id > 7" });
  // @ts-expect-error there is no such mode
  await table.insert(orders, { mode: "replace" });
  // @ts-expect-error there is no such kind
  await table.createIndex("id", { indexType: "hash" });
  // @ts-expect-error a promise is no namespace's id
  ns.table(Promise.resolve("orders"));
  // @ts-expect-error that is what other libraries call it
  await table.add(orders);
  return scan;
}
`;
