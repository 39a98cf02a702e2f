/** Tables on a disk that no other engine uses: few calls per change, and versions that are counted. */

import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { privateDisk } from "../support/privateDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

async function open() {
  const root = await makeTempDir();
  const disk = privateDisk();
  const ns = new DirectoryNamespace({ root, disk });
  await ns.createTable({ id }, rowsOf(0));
  return { root, disk, ns };
}

/** Calls without the directory of the table and the parts of names that change. */
const shortCalls = (calls: readonly string[], root: string): string[] =>
  calls
    .map((call) => call.replace(`${root}/t.lance/`, "").replace(/[0-9a-f-]{30,}(?=\.lance)/, "*"))
    .map((call) => call.replace(/\d+(?=\.manifest)/, "*"));

describe("a namespace on a private disk", () => {
  it("inserts rows by two files and eight looks", async () => {
    const { root, disk, ns } = await open();
    for (const value of [1, 2, 3, 4]) {
      disk.calls.length = 0;
      await ns.insertIntoTable({ id }, rowsOf(value));
    }
    expect(shortCalls(disk.calls, root).sort()).toEqual(
      [
        "create data/*.lance",
        "putIfAbsent _versions/*.manifest",
        "stat .lance-deregistered",
        // The latest version and its successor, before the rows are written and again under the lock.
        ...Array.from({ length: 4 }, () => "stat _versions/*.manifest"),
        ...Array.from({ length: 2 }, () => "stat _tiltyard/version_gaps.json"),
        "stat data/*.lance",
      ].sort(),
    );
    await ns.close();
  });

  it("counts up to the versions of another namespace, and lists none", async () => {
    const { root, disk, ns } = await open();
    await ns.insertIntoTable({ id }, rowsOf(1));
    const other = new DirectoryNamespace({ root, disk });
    for (const value of [2, 3, 4]) await other.insertIntoTable({ id }, rowsOf(value));
    disk.calls.length = 0;
    expect(await ns.countTableRows({ id })).toBe(5);
    await ns.updateTable({ id, predicate: "v = 0", updates: [["v", "5"]] });
    expect(disk.calls.filter((call) => call.startsWith("list"))).toEqual([]);
    expect(await other.countTableRows({ id })).toBe(5);
    await Promise.all([ns.close(), other.close()]);
  });

  it("lists the versions if another namespace has made many", async () => {
    const { root, disk, ns } = await open();
    const other = new DirectoryNamespace({ root, disk });
    for (let value = 1; value <= 20; value++) await other.insertIntoTable({ id }, rowsOf(value));
    expect(await ns.countTableRows({ id })).toBe(21);
    await ns.insertIntoTable({ id }, rowsOf(21));
    expect(await other.countTableRows({ id })).toBe(22);
    await Promise.all([ns.close(), other.close()]);
  });

  it("finds the latest version after older ones were removed, and after the table was replaced", async () => {
    const { root, disk, ns } = await open();
    const other = new DirectoryNamespace({ root, disk });
    expect(await other.countTableRows({ id })).toBe(1);
    for (let value = 1; value <= 5; value++) await ns.insertIntoTable({ id }, rowsOf(value));
    await ns.cleanupTable({ id, retainVersions: 1, olderThanMs: 0 });
    expect(await other.countTableRows({ id })).toBe(6);
    await other.insertIntoTable({ id }, rowsOf(6));
    await other.dropTable({ id });
    await other.createTable({ id }, rowsOf(7));
    expect(await ns.countTableRows({ id })).toBe(1);
    await ns.insertIntoTable({ id }, rowsOf(8));
    expect(valuesOf(await other.table(id).scan().toArrow())).toEqual([7, 8]);
    await Promise.all([ns.close(), other.close()]);
  });

  it("appends from two namespaces at the same time and loses nothing", async () => {
    const { root, disk, ns } = await open();
    const other = new DirectoryNamespace({ root, disk });
    await Promise.all(
      [ns, other].map(async (writer, number) => {
        for (let index = 0; index < 10; index++) {
          await writer.insertIntoTable({ id }, rowsOf(100 * (number + 1) + index));
        }
      }),
    );
    expect(await ns.countTableRows({ id })).toBe(21);
    await Promise.all([ns.close(), other.close()]);
  });

  it("finds a transaction without a file by its id", async () => {
    const { ns } = await open();
    const { transactionId } = await ns.insertIntoTable({ id }, rowsOf(1));
    const { status } = await ns.describeTransaction({ id: [...id, transactionId ?? ""] });
    expect(status).toBe("Succeeded");
    await ns.close();
  });
});
