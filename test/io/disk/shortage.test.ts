/** Checks that calls wait for a file descriptor during a shortage. */

import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CallRoute } from "../../../src/io/disk/callRoute.js";
import { HandlePool } from "../../../src/io/disk/handles.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { outlastShortage } from "../../../src/io/disk/shortage.js";
import { exitOf, nextMessage } from "../../support/childProcess.js";
import { countingDisk } from "../../support/countingDisk.js";
import { expect, it as test } from "../../support/fixtures.js";
import { makeTempDir } from "../../support/tempDir.js";

const errorOf = (code: string) => Object.assign(new Error(code), { code });

test.each([
  "EMFILE",
  "ENFILE",
])("an in-line call that fails with %s is repeated on the pool", async (code) => {
  const route = new CallRoute();
  let pooled = 0;
  const result = await route.run<string>(
    () => {
      throw errorOf(code);
    },
    (done) => {
      if (++pooled < 3) done(errorOf(code), "");
      else done(null, "opened");
    },
  );
  expect([result, pooled]).toEqual(["opened", 3]);
});

test("another failure of an in-line call is reported", async () => {
  const route = new CallRoute();
  const call = route.run<string>(
    () => {
      throw errorOf("EACCES");
    },
    () => {
      throw new Error("nobody asked for this");
    },
  );
  await expect(call).rejects.toMatchObject({ code: "EACCES" });
});

test("a shortage closes idle files, and none in use", async ({ root }) => {
  const paths = ["idle", "read"].map((name) => path.join(root, name));
  for (const each of paths) await writeFile(each, path.basename(each));
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  const pool = new HandlePool(disk);
  await pool.withHandle(paths[0], async () => undefined);
  const content = await pool.withHandle(paths[1], async (handle) => {
    let failures = 3;
    await outlastShortage(async () => {
      if (failures-- > 0) throw errorOf("EMFILE");
    });
    expect([pool.size, disk.count("close")]).toEqual([1, 1]);
    return Buffer.from(await handle.read(0, handle.size)).toString();
  });
  expect(content).toBe("read");
  await pool.close();
  expect(disk.count("close")).toBe(2);
});

test.each([
  ["fsync", 4],
  ["none", 4],
])("many concurrent appends and scans succeed (durability %s, %i files)", async (durability, free) => {
  const script = fileURLToPath(new URL("../../support/processes/fewDescriptors.mjs", import.meta.url));
  const tables = 4;
  const appends = 12;
  const run = [script, await makeTempDir(), durability, ...[free, tables, appends].map(String)];
  // Windows sets its own limit of open files.
  const [command, args] =
    process.platform === "win32"
      ? [process.execPath, run]
      : ["sh", ["-c", 'ulimit -n 256; exec "$0" "$@"', process.execPath, ...run]];
  const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const report = await nextMessage(child);
  expect(await exitOf(child)).toBe(0);
  const values = Array.from({ length: 2 * (appends + 1) }, (_, index) => index);
  expect(report).toMatchObject({ failures: [], failureCount: 0, rows: new Array(tables).fill(values) });
  expect((report as { taken: number }).taken).toBeGreaterThan(0);
});
