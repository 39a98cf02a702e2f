/**
 * Reads a published table where there is no Node.js: a version, through a disk that can only fetch ranges of files. Bundled
 * by the test, from the built modules, as anybody's application would be.
 */

import { RecordBatchStreamWriter } from "apache-arrow";
import { openDataFile } from "../../dist/file/container/reader.js";
import { HandlePool } from "../../dist/io/disk/handles.js";
import { LruCache } from "../../dist/io/memory/cache.js";
import { ScratchMemory } from "../../dist/io/memory/scratch.js";
import { resolveProjection } from "../../dist/query/columns/projection.js";
import { RowNumbers } from "../../dist/query/columns/systemColumns.js";
import { versionSource } from "../../dist/query/indexes/versionSource.js";
import { runQuery } from "../../dist/query/run/runQuery.js";
import { STREAMED } from "../../dist/rows/readAhead.js";
import { decodeSchema } from "../../dist/schema/schema.js";
import { readManifestFile, schemaMetadataOf } from "../../dist/table/versions/manifest.js";
import { tableAt } from "../../dist/table/versions/tableAt.js";

const CACHE_BYTES = 1 << 20;

/** A `Disk` below a URL, which needs answers to HEAD and to GET with a range. */
class RangeDisk {
  #base;
  #fetch;

  constructor(base, fetch) {
    this.#base = base;
    this.#fetch = fetch;
  }

  async open(path) {
    const head = await this.#fetch(this.#base + path, { method: "HEAD" });
    if (head.status === 404) return null;
    const size = Number(head.headers.get("content-length"));
    const read = async (byteOffset, length) => {
      if (length === 0) return new Uint8Array(0);
      const range = `bytes=${byteOffset}-${byteOffset + length - 1}`;
      const answer = await this.#fetch(this.#base + path, { headers: { range } });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      if (answer.status !== 206 || bytes.length !== length) throw new Error(`${path}: ${range} is not there`);
      return bytes;
    };
    return { path, size, identity: `${path}:${size}`, read, close: async () => {} };
  }

  async readFile(path) {
    const handle = await this.open(path);
    return handle === null ? null : handle.read(0, handle.size);
  }
}

/**
 * The rows of a version as an Arrow IPC stream.
 * @param base URL in front of all paths
 */
export async function readVersion(base, tableRoot, manifestPath, fetch) {
  const disk = new RangeDisk(base, fetch);
  const file = await readManifestFile(disk, manifestPath);
  if (file === null) throw new Error(`there is no ${manifestPath}`);
  const { manifest } = file;
  const handles = new HandlePool(disk);
  const open = (path) => handles.withHandle(path, (handle) => openDataFile(handle, path));
  const readers = {
    disk,
    handles,
    chunkMaps: new LruCache(CACHE_BYTES),
    scratch: new ScratchMemory(CACHE_BYTES),
    openDataFile: open,
    openDataFileOnce: open,
  };
  const fields = decodeSchema(manifest.fields, file.path);
  const source = versionSource({ table: tableAt(readers, tableRoot), file });
  const plan = {
    fragments: manifest.fragments,
    projection: resolveProjection(fields, schemaMetadataOf(manifest), undefined),
    filter: null,
    order: null,
    search: null,
    textSearch: null,
    offset: 0,
    limit: Number.MAX_SAFE_INTEGER,
  };
  const numbers = new RowNumbers(source, manifest, file.path);
  const batches = runQuery(source, plan, numbers, { batchRows: 1024, readAhead: STREAMED });
  const writer = new RecordBatchStreamWriter();
  for await (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array();
}
