/**
 * Damage to data files: bytes changed, cut and moved anywhere, and targeted changes. Checksums of our files
 * stay, are disabled, or fit the damage.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Table } from "apache-arrow";
import { crc32 } from "../../src/bytes/crc32.js";
import { DATA_FILE_FOOTER_BYTES, decodeColumnMetadata } from "../../src/file/container/container.js";
import { openDataFile } from "../../src/file/container/reader.js";
import { Manifest } from "../../src/format/table.js";
import type { ByteRange } from "../../src/io/disk/ranges.js";
import type { Random } from "./generators.js";

const TABLE_ENTRY_BYTES = 16;

/** A table of one data file, which its fragment may name more than once. */
export interface Specimen {
  readonly label: string;
  readonly root: string;
  readonly name: string;
  readonly dataPath: string;
  readonly bytes: Uint8Array;
  /** Table column of each physical column. */
  readonly owners: readonly string[];
  readonly pageBuffers: readonly (readonly ByteRange[])[];
  readonly columnMetadata: readonly ByteRange[];
  readonly globalBuffers: readonly ByteRange[];
  readonly columnNames: readonly string[];
  /** Physical columns whose values lie outside of pages. */
  readonly blobNames: ReadonlySet<string>;
  readonly rowCount: number;
  readonly hasChecksums: boolean;
  /** The rows, or null if this engine cannot read them. */
  readonly rows: Table | null;
}

const BLOB_V2 = "lance.blob.v2";

export interface Damage {
  readonly bytes: Uint8Array;
  readonly what: string;
  /** Table columns whose bytes are unchanged. */
  readonly intact: readonly string[];
  /** True if checksums are in force and do not fit the damage. */
  readonly guarded: boolean;
}

/** Opens the data file of a table that has one version and one data file. */
export async function openSpecimen(
  label: string,
  root: string,
  name: string,
  rows: Table | null,
): Promise<Specimen> {
  const directory = join(root, `${name}.lance`);
  const [dataName] = readdirSync(join(directory, "data")).filter((entry) => entry.endsWith(".lance"));
  const dataPath = join(directory, "data", dataName);
  const bytes = new Uint8Array(readFileSync(dataPath));
  const handle = {
    path: dataPath,
    size: bytes.length,
    identity: dataPath,
    read: async (byteOffset: number, length: number) => bytes.slice(byteOffset, byteOffset + length),
    close: async () => undefined,
  };
  const file = await openDataFile(handle, dataPath);
  const manifest = readManifest(directory);
  const byId = new Map(manifest.fields.map((field) => [field.id, field]));
  const owners: string[] = [];
  const blobNames = new Set<string>();
  for (const { fields, columnIndices } of manifest.fragments[0].files) {
    for (const [index, id] of fields.entries()) {
      let field = byId.get(id);
      while (field !== undefined && field.parentId >= 0) field = byId.get(field.parentId);
      const column = columnIndices[index];
      if (field !== undefined && column >= 0) owners[column] = field.name;
      const stored = byId.get(id);
      const isBlob = stored?.metadata.has("lance-encoding:blob") || stored?.extensionName === BLOB_V2;
      if (field !== undefined && isBlob) blobNames.add(field.name);
    }
  }
  const tail = new DataView(bytes.buffer, bytes.length - DATA_FILE_FOOTER_BYTES);
  const columnTable = Number(tail.getBigUint64(8, true));
  const view = new DataView(bytes.buffer);
  const columnMetadata = file.columns.map((_, index) => ({
    byteOffset: Number(view.getBigUint64(columnTable + index * TABLE_ENTRY_BYTES, true)),
    length: Number(view.getBigUint64(columnTable + index * TABLE_ENTRY_BYTES + 8, true)),
  }));
  return {
    label,
    root,
    name,
    dataPath,
    bytes,
    owners,
    pageBuffers: columnMetadata.map(({ byteOffset, length }) => {
      const message = bytes.subarray(byteOffset, byteOffset + length);
      const pages = decodeColumnMetadata(message, dataPath, byteOffset, bytes.length);
      return pages.flatMap((page) => page.buffers);
    }),
    columnMetadata,
    globalBuffers: file.globalBuffers,
    columnNames: manifest.fields.filter((field) => field.parentId < 0).map((field) => field.name),
    blobNames,
    rowCount: manifest.fragments[0].physicalRows,
    hasChecksums: file.checksums !== null,
    rows,
  };
}

function readManifest(directory: string): Manifest {
  const versions = join(directory, "_versions");
  const [name] = readdirSync(versions).filter((entry) => entry.endsWith(".manifest"));
  const path = join(versions, name);
  const bytes = new Uint8Array(readFileSync(path));
  const view = new DataView(bytes.buffer);
  const start = view.getUint32(bytes.length - 16, true);
  const length = view.getUint32(start, true);
  return Manifest.decode(bytes.subarray(start + 4, start + 4 + length), { path, byteOffset: start + 4 });
}

/** Makes one damage, which the random numbers determine. */
export function damage(specimen: Specimen, random: Random): Damage {
  const made = damageAnywhere(specimen, random);
  const mode = specimen.hasChecksums ? random.below(6) : 1;
  // A rewritten tail has moved.
  if (mode === 0) return { ...made, guarded: true };
  if (!specimen.hasChecksums) return { ...made, guarded: false };
  if (mode === 1 && made.bytes.length === specimen.bytes.length) {
    return { ...made, bytes: resealed(specimen, made.bytes), what: `${made.what}, resealed`, guarded: false };
  }
  const bytes = made.bytes.slice();
  const offset = checksumFieldStart(specimen.globalBuffers[0], specimen.pageBuffers.flat().length);
  if (offset < bytes.length) bytes[offset] ^= OTHER_FIELD;
  return { ...made, bytes, what: `${made.what}, unsealed`, guarded: false };
}

type Change = Omit<Damage, "guarded">;

function damageAnywhere(specimen: Specimen, random: Random): Change {
  const kind = random.below(100);
  if (kind < 34) return changeMessage(specimen, random);
  if (kind < 60) return changeWord(specimen, random);
  if (kind < 68) return changeFooter(specimen, random);
  const bytes = specimen.bytes.slice();
  const { byteOffset: start, length: span } = region(specimen, random);
  const offset = start + random.below(Math.max(1, span));
  const length = 1 + random.below(random.below(3) === 0 ? 64 : 4);
  const end = Math.min(bytes.length, offset + length);
  const changed = (what: string): Change => ({
    bytes,
    what: `${what} at ${offset} of ${bytes.length}, ${end - offset} bytes`,
    intact: intactBut(specimen, offset, end),
  });
  if (kind < 78) {
    bytes[offset] ^= 1 << random.below(8);
    return changed("bit flipped");
  }
  if (kind < 86) {
    for (let byte = offset; byte < end; byte++) bytes[byte] = random.below(256);
    return changed("bytes set");
  }
  if (kind < 90) {
    bytes.fill(random.below(2) === 0 ? 0 : 0xff, offset, end);
    return changed("run filled");
  }
  if (kind < 94) {
    bytes.set(specimen.bytes.subarray(random.below(bytes.length)).subarray(0, end - offset), offset);
    return changed("spliced");
  }
  if (kind < 97) {
    return { bytes: bytes.slice(0, offset), what: `truncated to ${offset} of ${bytes.length}`, intact: [] };
  }
  const cut = new Uint8Array(bytes.length - (end - offset));
  cut.set(bytes.subarray(0, offset));
  cut.set(bytes.subarray(end), offset);
  return { bytes: cut, what: `cut ${offset} to ${end} of ${bytes.length}`, intact: [] };
}

/** Picks a page buffer mostly, often metadata. */
function region(specimen: Specimen, random: Random): ByteRange {
  const kind = random.below(10);
  const whole = { byteOffset: 0, length: specimen.bytes.length };
  if (kind < 5) {
    const range = pick(specimen.pageBuffers.flat(), random) ?? whole;
    // The head of a buffer describes the rest.
    return random.below(2) === 0 ? range : { ...range, length: Math.min(range.length, 32) };
  }
  if (kind < 8) return pick(specimen.columnMetadata, random) ?? whole;
  return kind < 9 ? specimen.globalBuffers[0] : whole;
}

/** Replaces a little-endian word of a page buffer by an unusual number. */
function changeWord(specimen: Specimen, random: Random): Change {
  const range = pick(
    specimen.pageBuffers.flat().filter(({ length }) => length >= 2),
    random,
  );
  if (range === null) return changeMessage(specimen, random);
  const bytes = specimen.bytes.slice();
  const width =
    pick(
      [2, 2, 4, 8].filter((size) => size <= range.length),
      random,
    ) ?? 2;
  const span = random.below(3) === 0 ? range.length : Math.min(range.length, 24);
  const offset = range.byteOffset + width * random.below(Math.max(1, Math.floor(span / width)));
  const view = new DataView(bytes.buffer);
  if (width === 2)
    view.setUint16(offset, Number(oddNumber(BigInt(view.getUint16(offset, true)), random) & 0xffffn), true);
  else if (width === 4)
    view.setUint32(
      offset,
      Number(oddNumber(BigInt(view.getUint32(offset, true)), random) & 0xffffffffn),
      true,
    );
  else view.setBigUint64(offset, oddNumber(view.getBigUint64(offset, true), random), true);
  return {
    bytes,
    what: `word of ${width} bytes at ${offset}`,
    intact: intactBut(specimen, offset, offset + width),
  };
}

function changeFooter(specimen: Specimen, random: Random): Change {
  const bytes = specimen.bytes.slice();
  const view = new DataView(bytes.buffer);
  const footer = bytes.length - DATA_FILE_FOOTER_BYTES;
  const kind = random.below(3);
  let offset = footer + 8 * random.below(3);
  if (kind === 0) {
    offset = footer + 24 + 4 * random.below(2);
    view.setUint32(
      offset,
      Number(oddNumber(BigInt(view.getUint32(offset, true)), random) & 0xffffffffn),
      true,
    );
  } else {
    if (kind === 1) {
      const start = Number(view.getBigUint64(footer + 8, true));
      offset = start + 8 * random.below(Math.floor((footer - start) / 8));
    }
    view.setBigUint64(offset, oddNumber(view.getBigUint64(offset, true), random), true);
  }
  return { bytes, what: `number at ${offset - bytes.length} from the end`, intact: [] };
}

/** Changes a field of a column's metadata or of the schema descriptor; moved bytes go to the end. */
function changeMessage(specimen: Specimen, random: Random): Change {
  const { bytes, columnMetadata, globalBuffers } = specimen;
  const column = random.below(8) === 0 ? -1 : random.below(columnMetadata.length);
  const range = column < 0 ? globalBuffers[0] : columnMetadata[column];
  const path: number[] = [];
  const message = changeField(
    bytes.subarray(range.byteOffset, range.byteOffset + range.length),
    random,
    path,
  );
  const footerStart = bytes.length - DATA_FILE_FOOTER_BYTES;
  const view = new DataView(bytes.buffer);
  const columnTable = Number(view.getBigUint64(footerStart + 8, true));
  const tables = bytes.slice(columnTable, bytes.length);
  const out = new Uint8Array(footerStart + message.length + tables.length);
  out.set(bytes.subarray(0, footerStart));
  out.set(message, footerStart);
  const tablesStart = footerStart + message.length;
  out.set(tables, tablesStart);
  const written = new DataView(out.buffer);
  const globalTable = tablesStart + Number(view.getBigUint64(footerStart + 16, true)) - columnTable;
  const entry = column < 0 ? globalTable : tablesStart + column * TABLE_ENTRY_BYTES;
  written.setBigUint64(entry, BigInt(footerStart), true);
  written.setBigUint64(entry + 8, BigInt(message.length), true);
  const footer = out.length - DATA_FILE_FOOTER_BYTES;
  written.setBigUint64(footer + 8, BigInt(tablesStart), true);
  written.setBigUint64(footer + 16, BigInt(globalTable), true);
  const owner = column < 0 ? null : specimen.owners[column];
  return {
    bytes: out,
    what: `field ${path.join(".")} of the ${column < 0 ? "descriptor" : `metadata of column ${column}`}`,
    intact: owner === null ? [] : specimen.columnNames.filter((name) => name !== owner),
  };
}

interface WireField {
  readonly number: number;
  readonly type: number;
  /** Offset of the tag. */
  readonly start: number;
  /** Offset of the value; for type 2 after its length. */
  readonly valueStart: number;
  readonly end: number;
}

/** Fields of bytes that may be a protobuf message, or null. */
function wireFields(bytes: Uint8Array): WireField[] | null {
  const fields: WireField[] = [];
  let offset = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (offset >= bytes.length) return -1;
      const byte = bytes[offset++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    return -1;
  };
  while (offset < bytes.length) {
    const start = offset;
    const tag = varint();
    const number = Math.floor(tag / 8);
    const type = tag % 8;
    if (tag < 0 || number === 0 || number > 2000) return null;
    let valueStart = offset;
    if (type === 0) {
      if (varint() < 0) return null;
    } else if (type === 2) {
      const length = varint();
      valueStart = offset;
      if (length < 0) return null;
      offset += length;
    } else if (type === 5) offset += 4;
    else if (type === 1) offset += 8;
    else return null;
    if (offset > bytes.length) return null;
    fields.push({ number, type, start, valueStart, end: offset });
  }
  return fields;
}

/** @param path receives the field numbers down to the changed one */
function changeField(bytes: Uint8Array, random: Random, path: number[]): Uint8Array {
  const fields = wireFields(bytes);
  const field = fields === null ? null : pick(fields, random);
  if (field === null) return changePayload(bytes, random);
  path.push(field.number);
  const before = bytes.subarray(0, field.start);
  const fieldBytes = bytes.subarray(field.start, field.end);
  const after = bytes.subarray(field.end);
  const fate = random.below(12);
  if (fate === 0) return joined(before, after);
  if (fate === 1) return joined(before, fieldBytes, fieldBytes, after);
  const value = bytes.subarray(field.valueStart, field.end);
  const tag = encodeVarint(BigInt(field.number * 8 + field.type));
  if (field.type === 0) {
    return joined(before, tag, encodeVarint(oddNumber(decodeVarint(value), random)), after);
  }
  if (field.type !== 2)
    return joined(before, tag, changePayload(value, random).subarray(0, value.length), after);
  const nested = wireFields(value);
  const changed =
    nested !== null && nested.length > 0 && random.below(10) !== 0
      ? changeField(value, random, path)
      : changePayload(value, random);
  return joined(before, tag, encodeVarint(BigInt(changed.length)), changed, after);
}

function changePayload(bytes: Uint8Array, random: Random): Uint8Array {
  const offset = random.below(Math.max(1, bytes.length));
  switch (random.below(5)) {
    case 0:
      return bytes.slice(0, offset);
    case 1:
      return joined(bytes, bytes.subarray(offset));
    case 2:
    case 3: {
      // One whole packed number.
      let start = offset;
      while (start > 0 && bytes[start - 1] >= 128) start--;
      let end = offset;
      while (end < bytes.length && bytes[end] >= 128) end++;
      end = Math.min(bytes.length, end + 1);
      const value = encodeVarint(oddNumber(decodeVarint(bytes.subarray(start, end)), random));
      return joined(bytes.subarray(0, start), value, bytes.subarray(end));
    }
    default: {
      const changed = bytes.slice();
      if (changed.length > 0) changed[offset] = random.below(256);
      return changed;
    }
  }
}

/** A number near the old one, or near a limit. */
function oddNumber(value: bigint, random: Random): bigint {
  const power = 1n << BigInt(random.below(64));
  const odd = [
    0n,
    1n,
    value + 1n,
    value - 1n,
    value * 2n,
    value / 2n,
    value ^ power,
    power,
    power - 1n,
    power + 1n,
    BigInt(random.below(256)),
    (1n << 64n) - 1n,
    (1n << 53n) - 1n,
    (1n << 31n) - 1n,
    1n << 32n,
  ];
  return BigInt.asUintN(64, odd[random.below(odd.length)]);
}

function decodeVarint(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const [index, byte] of bytes.subarray(0, 10).entries())
    value |= BigInt(byte & 127) << BigInt(7 * index);
  return BigInt.asUintN(64, value);
}

function encodeVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  bytes.push(Number(left));
  return Uint8Array.from(bytes);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function pick<T>(values: readonly T[], random: Random): T | null {
  return values.length === 0 ? null : values[random.below(values.length)];
}

/** Columns without bytes between `start` and `end`. */
function intactBut(specimen: Specimen, start: number, end: number): string[] {
  const touches = ({ byteOffset, length }: ByteRange) => byteOffset < end && start < byteOffset + length;
  const hit = new Set<string>(specimen.blobNames);
  for (const [column, owner] of specimen.owners.entries()) {
    if (specimen.pageBuffers[column].some(touches) || touches(specimen.columnMetadata[column]))
      hit.add(owner);
  }
  const last = specimen.columnMetadata[specimen.columnMetadata.length - 1];
  if (end > last.byteOffset + last.length || specimen.globalBuffers.some(touches)) return [];
  return specimen.columnNames.filter((name) => !hit.has(name));
}

/** Returns the file with checksums that fit its bytes. */
function resealed(specimen: Specimen, damaged: Uint8Array): Uint8Array {
  const bytes = damaged.slice();
  const view = new DataView(bytes.buffer);
  const descriptor = specimen.globalBuffers[0];
  const end = descriptor.byteOffset + descriptor.length;
  const ranges = specimen.pageBuffers.flat();
  let offset = end - 4 * (ranges.length + 1);
  for (const range of ranges) {
    view.setUint32(offset, crc32(bytes.subarray(range.byteOffset, range.byteOffset + range.length)), true);
    offset += 4;
  }
  const front = crc32(bytes.subarray(descriptor.byteOffset, end - 4));
  view.setUint32(end - 4, crc32(bytes.subarray(end), front), true);
  return bytes;
}

/** Bit that turns the number of the checksums' field into another. */
export const OTHER_FIELD = 0x20;

/** Offset of the checksums' field, the last of the descriptor: two bytes of number and the length. */
export function checksumFieldStart(descriptor: ByteRange, pageBufferCount: number): number {
  const length = 4 * (pageBufferCount + 1);
  const lengthBytes = Math.ceil((32 - Math.clz32(length)) / 7);
  return descriptor.byteOffset + descriptor.length - length - lengthBytes - 2;
}
