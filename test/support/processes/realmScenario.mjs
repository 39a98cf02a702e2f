/**
 * What `otherRealm.mjs` runs in its realm. Rows, signals and requests come from this realm and from the outer one.
 */

import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";

/** Name of the error that a call ends with; null where it succeeds. */
async function failureOf(call) {
  try {
    await call();
    return null;
  } catch (error) {
    if (!(error instanceof NamespaceError)) return `not ours: ${error?.stack ?? error}`;
    return error.name;
  }
}

const valuesOf = async (namespace, id, column) => {
  const table = await namespace.table(id).scan().toArrow();
  return Array.from(table.getChild(column), (value) => (typeof value === "bigint" ? Number(value) : value));
};

export async function run(root, outer) {
  const { realm, arrow } = outer;
  const report = {
    // What the whole is about: the file system's errors are not of this realm.
    isOtherRealm: Error !== realm.Error && Map !== realm.Map && Promise !== realm.Promise,
  };
  const namespace = new DirectoryNamespace({ root: join(root, "ns") });
  const rows = (from) => tableFromArrays({ n: Int32Array.of(from, from + 1), s: [`a${from}`, `b${from}`] });
  const t = ["t"];

  report.exists = await failureOf(() => namespace.tableExists({ id: t }));
  await namespace.createTable({ id: t }, rows(1));
  report.again = await failureOf(() => namespace.createTable({ id: t }, rows(1)));
  await namespace.insertIntoTable({ id: t }, tableToIPC(rows(3)));

  const outerRows = arrow.tableFromArrays({ n: realm.Int32Array.of(5, 6), s: realm.Array.of("a5", "b5") });
  await namespace.insertIntoTable({ id: realm.Array.of("t") }, outerRows);
  const ipc = arrow.tableToIPC(outerRows);
  const memory = realm.ArrayBuffer.prototype.slice.call(
    ipc.buffer,
    ipc.byteOffset,
    ipc.byteOffset + ipc.length,
  );
  await namespace.insertIntoTable({ id: t }, memory);
  const shared = new realm.SharedArrayBuffer(ipc.length);
  new realm.Uint8Array(shared).set(ipc);
  await namespace.insertIntoTable({ id: t }, shared);
  await namespace.insertIntoTable({ id: t }, realm.Array.of(realm.Uint8Array.from(ipc)));
  report.rows = await valuesOf(namespace, t, "n");
  const taken = await namespace.table(t).take(realm.Uint32Array.of(1, 4));
  report.taken = Array.from(taken.getChild("s"));
  report.dataView = await failureOf(() => namespace.table(t).take(new realm.DataView(memory)));

  // A name in `_versions` that holds no hint, and one in `_refs` that is none of a tag.
  await writeFile(
    join(root, "ns", "t.lance", "_versions", "latest_version_hint.json"),
    Uint8Array.of(0xff, 0xfe),
  );
  report.withoutHint = await namespace.countTableRows({ id: t });
  await namespace.createTableTag({ id: t, tag: "first", version: 1 });
  report.tags = Object.keys((await namespace.listTableTags({ id: t })).tags);
  await namespace.createTableBranch({ id: t, name: "b" });
  await namespace.insertIntoTable({ id: t, branch: "b" }, rows(9));
  report.branchRows = await namespace.countTableRows({ id: t, branch: "b" });
  await namespace.deleteTableBranch({ id: t, name: "b" });

  const child = realm.Array.of("space", "child");
  const properties = realm.Object.assign(realm.Object.create(realm.Object.prototype), { color: "red" });
  await namespace.createNamespace({ id: ["space"], properties });
  await namespace.createTable({ id: child, properties }, outerRows);
  report.properties = { ...(await namespace.describeTable({ id: child })).properties };
  report.mapAsProperties = await failureOf(() =>
    namespace.createTable({ id: ["u"], properties: new realm.Map([["color", "red"]]) }, rows(1)),
  );
  await namespace.optimizeTable({ id: t });
  await namespace.cleanupTable({ id: t, olderThanMs: 0 });
  report.optimized = (await valuesOf(namespace, t, "n")).length;

  const handler = createRestHandler(namespace, { auth: { anonymous: true }, limits: { maxBodyBytes: 1000 } });
  const post = async (path, body) => {
    const type = typeof body === "string" ? "application/json" : "application/vnd.apache.arrow.stream";
    const headers = { "content-type": type };
    const response = await handler(
      new Request(`http://localhost${path}`, { method: "POST", headers, body, duplex: "half" }),
    );
    return { status: response.status, text: await response.text() };
  };
  report.counted = (await post("/v1/table/t/count_rows", "{}")).text;
  const large = tableToIPC(tableFromArrays({ n: new Int32Array(1000), s: new Array(1000).fill("s") }));
  report.tooLarge = (await post("/v1/table/t/insert", new Blob([large]).stream())).status;
  report.missing = (await post("/v1/table/none/count_rows", "{}")).status;

  const aborted = realm.AbortSignal.abort();
  report.abortedBefore = await failureOf(() => namespace.countTableRows({ id: t, signal: aborted }));
  const controller = new realm.AbortController();
  async function* endless() {
    yield rows(1).batches[0];
    controller.abort(new realm.Error("enough"));
    await new Promise(() => undefined);
  }
  report.abortedWithin = await failureOf(() =>
    namespace.insertIntoTable({ id: t, signal: controller.signal }, endless()),
  );
  const failing = {
    [Symbol.asyncIterator]: () => ({ next: () => realm.Promise.reject(new realm.TypeError("no more rows")) }),
  };
  report.failingSource = await namespace.insertIntoTable({ id: t }, failing).catch((error) => error.message);

  await namespace.renameTable({ id: child, newTableName: "renamed" });
  await namespace.dropTable({ id: ["space", "renamed"] });
  await namespace.dropNamespace({ id: ["space"] });
  await namespace.dropTable({ id: t });
  report.dropped = await failureOf(() => namespace.countTableRows({ id: t }));
  await mkdir(join(root, "ns", "d.lance"), { recursive: true });
  await namespace.declareTable({ id: ["d"] });
  await namespace.dropTable({ id: ["d"] });
  report.left = (await readdir(join(root, "ns"))).filter((name) => name !== "__manifest");
  await namespace.close();
  // Only what this process can send: objects of this realm are no problem to the channel.
  return report;
}
