/**
 * Data files of every version, layout and encoding, the reference's and ours, damaged in thousands of ways.
 * Each is opened and read whole, in part and row by row, and gives rows or a typed error. Undamaged columns
 * keep their rows; so does everything under checksums. A process of its own reads
 * (processes/damagedReader.mjs), with little memory and a time limit.
 *
 * Memory: the allocations of a read, freed since or not, stay below twice the size that its file can declare:
 *
 *     rows × bytes of a row before the damage
 *   + EXPANSION × bytes of the file     the content of runs and levels in the densest encodings
 *   + WORKING_BYTES                     the need of any read, however small
 */

import { type ChildProcess, fork } from "node:child_process";
import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { columnFromData } from "../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../src/arrow/types/layouts.js";
import { checkColumn } from "../support/checkColumn.js";
import { nextMessage } from "../support/childProcess.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { type Damage, damage, openSpecimen, type Specimen } from "../support/fileDamage.js";
import { allTypesSpec, makeTable, Random } from "../support/generators.js";
import {
  existsIn,
  leaf,
  list,
  makeNestedTable,
  map,
  packed,
  sized,
  struct,
  withValidStructs,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));
const READER = fileURLToPath(new URL("../support/processes/damagedReader.mjs", import.meta.url));
const VERSIONS = ["2.0", "2.1", "2.2"] as const;
const FILES = runsOf("FUZZ_FILES", 1200);

/** Maximum bytes that one byte of a file stands for. */
const EXPANSION = 1024;
/** Tables and windows of decompressors. */
const WORKING_BYTES = 512 * 1024;
/** CPU time of one read of a file of some kilobytes, far above its need. */
const MAXIMUM_CPU_MS = 5_000;
/** A read without an answer for this long counts as endless, however busy the machine. */
const PATIENCE_MS = 60_000;

interface Read {
  readonly what: "scan" | "columns" | "take" | "range";
  readonly rows?: Uint8Array;
  readonly refused?: string;
  readonly fault?: string;
  readonly allocatedBytes: number;
  readonly cpuMs: number;
}

interface Answer {
  readonly reads: readonly Read[];
  readonly peakBytes: number;
}

const specimens: Specimen[] = [];
let reader: ChildProcess | undefined;

beforeAll(async () => {
  const root = await makeTempDir();
  const ours = Object.fromEntries(
    VERSIONS.map((version) => [
      version,
      new DirectoryNamespace({ root, durability: "none", dataStorageVersion: version }),
    ]),
  );
  const readOrNull = async (name: string) => {
    try {
      return await ours["2.2"].table([name]).scan().toArrow();
    } catch (error) {
      if (error instanceof UnsupportedError && !(error instanceof CorruptFileError)) return null;
      throw error;
    }
  };
  const addOurs = async (name: string, rows: Table, version: string) => {
    try {
      await ours[version].createTable({ id: [name] }, rows);
    } catch (error) {
      // Some types can be read but not written, or not in every version.
      if (error instanceof UnsupportedError) return;
      throw error;
    }
    specimens.push(await openSpecimen(`ours ${name}`, root, name, await readOrNull(name)));
  };
  const addTheirs = async (name: string, rows: Table, version: string) => {
    await reference.createTable(root, name, tableToIPC(rows), { dataStorageVersion: version });
    specimens.push(await openSpecimen(`the reference's ${name}`, root, name, await readOrNull(name)));
  };

  for (const entry of readdirSync(GOLDEN).filter((name) => /^v2_[012]_.*\.lance$/.test(name))) {
    const name = entry.slice(0, -".lance".length);
    cpSync(join(GOLDEN, entry), join(root, entry), { recursive: true });
    const rows = await readOrNull(name);
    specimens.push(await openSpecimen(`golden ${name}`, root, name, rows));
    if (rows !== null) await addOurs(`our_${name}`, rows, name.slice(1, 4).replace("_", "."));
  }
  for (const version of VERSIONS) {
    const tag = version.replace(".", "_");
    const texts = [leaf("utf8", "some"), leaf("largeBinary", "some"), leaf("int32", "some", "runs")];
    const nested = makeNestedTable({
      columns: [
        list(leaf("int64", "some"), "some"),
        struct([leaf("utf8", "some"), list(leaf("float32"), "some")], version === "2.0" ? "none" : "some"),
        list(list(leaf("utf8"), "some"), "none", "mostlyEmpty"),
        ...(version === "2.2" ? [map(leaf("bool", "some"), "some")] : []),
        ...texts,
      ],
      rowCount: 150,
      seed: 7,
    });
    await addOurs(`nested_${tag}`, nested, version);
    await addTheirs(`nested_ref_${tag}`, nested, version);
    const structs = [
      packed([leaf("int16"), leaf("float64")], "some"),
      packed([leaf("int32"), leaf("utf8")], "some"),
      sized(packed([leaf("int16"), leaf("int64")], "some"), "some"),
      sized(struct([leaf("int32", "some"), leaf("utf8", "some")], "some"), "some"),
      list(packed([leaf("uint8"), leaf("int32")], "some"), "some"),
    ]
      .map((column) => (version === "2.0" ? withValidStructs(column) : column))
      .filter((column) => existsIn(version, column));
    for (const [index, column] of structs.entries()) {
      const rows = makeNestedTable({ columns: [column, leaf("int32")], rowCount: 150, seed: 11 });
      await addOurs(`structs_${index}_${tag}`, rows, version);
    }
    for (const shape of ["random", "lowCardinality", "runs"] as const) {
      const spec = allTypesSpec(100, shape === "runs" ? "none" : "some", { shape, seed: 5 });
      for (const part of [0, 1, 2, 3]) {
        const columns = spec.columns.filter((_, index) => index % 4 === part);
        const rows = makeTable({ ...spec, columns });
        await addOurs(`${shape}_${part}_${tag}`, rows, version);
        await addTheirs(`${shape}_${part}_ref_${tag}`, rows, version);
      }
    }
  }
  await Promise.all(Object.values(ours).map((namespace) => namespace.close()));
  reader = fork(READER, { serialization: "advanced", execArgv: ["--max-old-space-size=192"] });
  await nextMessage(reader);
});
afterAll(() => {
  reader?.kill();
});

async function readDamaged(request: object): Promise<Answer> {
  if (reader === undefined) throw new Error("no process that reads");
  const answer = nextMessage(reader) as Promise<Answer>;
  reader.send(request);
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("a read does not end")), PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, patience]);
  } finally {
    clearTimeout(timer);
  }
}

/** Bytes of a row, rounded up. */
function rowBytes({ rows }: Specimen): number {
  if (rows === null) return 0;
  const bytes = rows.batches.reduce((sum, batch) => sum + batch.data.byteLength, 0);
  return Math.ceil(bytes / Math.max(1, rows.numRows));
}

/** Fails unless the rows are safe to read, and right if the damage leaves no doubt. */
function checkRows(
  specimen: Specimen,
  { intact, guarded }: Damage,
  read: Read,
  start: number,
  count: number,
): void {
  const rows = tableFromIPC(read.rows);
  for (const batch of rows.batches) {
    for (const [index, { type, name }] of batch.schema.fields.entries()) {
      const layout = layoutOf(type, name);
      checkColumn(columnFromData(batch.data.children[index], layout), layout, batch.numRows);
    }
  }
  expect(rows.numRows).toBe(count);
  if (specimen.rows === null) return;
  const expected = read.what === "take" ? null : specimen.rows.slice(start, start + count);
  // Partial reads are not verified by checksums.
  const names = guarded && read.what === "scan" ? specimen.columnNames : intact;
  if (expected === null || names.length === 0) return;
  compareTables(expected.select([...names]), rows.select([...names]), { metadata: false });
}

describe("damaged data files", () => {
  it("give their rows or a typed error, in bounded time and memory", async () => {
    const seed = RUN_SEED;
    console.info(`data file fuzz: seed ${seed}, ${FILES} files of ${specimens.length} specimens`);
    const refusals = new Map<string, number>();
    let files = 0;
    let readable = 0;
    let reads = 0;
    let worst = { ratio: 0, what: "" };
    let slowest = { cpuMs: 0, what: "" };
    let peakBytes = 0;
    for (; files < FILES; files++) {
      const random = new Random(seed + files);
      const specimen = specimens[random.below(specimens.length)];
      const made = damage(specimen, random);
      const { rowCount } = specimen;
      const rowOffsets = Array.from({ length: 5 }, () => random.below(rowCount));
      const offset = random.below(rowCount);
      const limit = 1 + random.below(rowCount - offset);
      const { intact } = made;
      const columns = intact.length > 0 && intact.length < specimen.columnNames.length ? intact : null;
      const what = `seed ${seed + files} (FC_SEED with FUZZ_FILES=1), ${specimen.label}: ${made.what}`;
      writeFileSync(specimen.dataPath, made.bytes);
      try {
        const { root, name } = specimen;
        const answer = await readDamaged({ root, name, columns, rowOffsets, offset, limit });
        peakBytes = Math.max(peakBytes, answer.peakBytes);
        const bound = rowCount * rowBytes(specimen) + made.bytes.length * EXPANSION + WORKING_BYTES;
        for (const read of answer.reads) {
          reads++;
          if (read.fault !== undefined) throw new Error(read.fault);
          const ratio = read.allocatedBytes / bound;
          if (ratio > worst.ratio)
            worst = { ratio, what: `${read.allocatedBytes} bytes, ${read.what}, ${what}` };
          if (read.cpuMs > slowest.cpuMs) slowest = { cpuMs: read.cpuMs, what: `${read.what}, ${what}` };
          if (ratio > 2) throw new Error(`${read.what} asks for ${read.allocatedBytes} bytes of ${bound}`);
          if (read.cpuMs > MAXIMUM_CPU_MS) throw new Error(`${read.what} takes ${read.cpuMs} ms`);
          if (read.refused !== undefined) {
            const type = read.refused.slice(0, read.refused.indexOf(":"));
            refusals.set(type, (refusals.get(type) ?? 0) + 1);
            continue;
          }
          const [start, count] =
            read.what === "take"
              ? [0, rowOffsets.length]
              : read.what === "range"
                ? [offset, limit]
                : [0, rowCount];
          const seen =
            read.what === "columns"
              ? { ...specimen, rows: specimen.rows?.select([...intact]) ?? null }
              : specimen;
          checkRows(seen as Specimen, made, read, start, count);
        }
        if (answer.reads[0].rows !== undefined) readable++;
      } catch (error) {
        throw new Error(what, { cause: error });
      } finally {
        writeFileSync(specimen.dataPath, specimen.bytes);
      }
    }
    const refused = [...refusals].map(([type, times]) => `${times} ${type}`).join(", ");
    console.info(
      `data file fuzz: ${files} files; ${readable} were rows when scanned, ${files - readable} errors`,
    );
    console.info(`data file fuzz: ${reads} reads, of which ${refused}`);
    console.info(`data file fuzz: worst memory ${worst.ratio.toFixed(4)} of the bound (${worst.what})`);
    console.info(
      `data file fuzz: slowest ${slowest.cpuMs} ms (${slowest.what}); peak ${peakBytes} bytes resident`,
    );
    expect(readable).toBeGreaterThan(0);
    expect(readable).toBeLessThan(files);
  }, 3_600_000);
});
