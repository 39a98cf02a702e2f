/** Replaces the data file in a table of the reference by one of ours. */

import { readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Table } from "apache-arrow";
import type { FileVersion } from "../../src/file/container/page.js";
import { Schema } from "../../src/format/file.js";
import { Manifest } from "../../src/format/table.js";
import type { Disk } from "../../src/io/disk/disk.js";
import { writeTable } from "./dataFiles.js";

/** Replaces the only data file of a table with one version; `write` returns the length of the new file. */
export async function swapDataFile(
  disk: Disk,
  directory: string,
  table: Table,
  version: FileVersion,
  write = writeTable,
): Promise<void> {
  const versions = join(directory, "_versions");
  const [name] = (await readdir(versions)).filter((entry) => entry.endsWith(".manifest"));
  const path = join(versions, name);
  const bytes = new Uint8Array(await readFile(path));
  const view = new DataView(bytes.buffer);
  const start = view.getUint32(bytes.length - 16, true);
  const length = view.getUint32(start, true);
  const manifest = Manifest.decode(bytes.subarray(start + 4, start + 4 + length), {
    path,
    byteOffset: start + 4,
  });
  const [fragment] = manifest.fragments;
  const [file] = fragment.files;
  const dataPath = join(directory, "data", file.path);
  await unlink(dataPath);
  const fileSizeBytes = await write(
    disk,
    dataPath,
    table,
    version,
    Schema.create({ fields: manifest.fields }),
  );
  // Decoded fragments are never changed: they are written as their old bytes.
  manifest.fragments = [{ ...fragment, files: [{ ...file, fileSizeBytes }] }];
  const message = Manifest.encode(manifest);
  const size = new Uint8Array(new Uint32Array([message.length]).buffer);
  await writeFile(
    path,
    Buffer.concat([bytes.subarray(0, start), size, message, bytes.subarray(bytes.length - 16)]),
  );
}
