/** A small IPC message cannot make the engine decode much by sharing its parts. */

import { Field, Int8, makeVector, Schema, Table, tableToIPC } from "apache-arrow";
import { expect, it } from "vitest";
import { openIpcBytes } from "../../src/arrow/exchange/ipc.js";
import { InvalidInputError } from "../../src/errors.js";

const STRUCT = 13;
const NULL = 1;

/** Makes a stream or file whose schema refers `fields` times to a struct, and that to one leaf many times. */
function sharedFields(fields: number, children: number, format: "stream" | "file" = "stream"): Buffer {
  const vector = 96;
  const struct = vector + 4 + 4 * fields;
  const childVector = struct + 16;
  const leaf = childVector + 4 + 4 * children;
  const noType = leaf + 16;
  const length = (noType + 8 + 7) & ~7;
  const bytes = Buffer.alloc(8 + length);
  bytes.writeUInt32LE(0xffffffff, 0);
  bytes.writeInt32LE(length, 4);
  const metadata = bytes.subarray(8);
  const layout = (offset: number, ...slots: number[]) =>
    metadata.set(new Uint8Array(Uint16Array.from(slots).buffer), offset);
  const pointer = (index: number, target: number) => metadata.writeUInt32LE(target - index, index);
  const table = (index: number, vtable: number) => metadata.writeInt32LE(index - vtable, index);
  const field = (index: number, type: number, childrenAt: number) => {
    table(index, 68);
    metadata.writeUInt8(1, index + 5);
    metadata.writeUInt8(type, index + 6);
    pointer(index + 8, noType);
    pointer(index + 12, childrenAt);
  };
  const repeated = (slot: number, count: number, target: number) => {
    metadata.writeUInt32LE(count, slot);
    for (let index = 0; index < count; index++) pointer(slot + 4 + 4 * index, target);
  };
  pointer(0, 24);
  // A message has its header in slot 2, a footer its schema in slot 1.
  if (format === "stream") layout(8, 12, 24, 4, 6, 8, 16);
  else layout(8, 12, 24, 4, 8, 0, 0);
  table(24, 8);
  metadata.writeInt16LE(4, 28);
  metadata.writeUInt8(1, 30);
  pointer(32, 60);
  layout(52, 8, 8, 0, 4);
  table(60, 52);
  pointer(64, vector);
  layout(68, 16, 16, 0, 5, 6, 8, 0, 12);
  layout(88, 4, 4);
  repeated(vector, fields, struct);
  field(struct, STRUCT, childVector);
  repeated(childVector, children, leaf);
  field(leaf, NULL, noType + 4);
  table(noType, 88);
  if (format === "stream") return bytes;
  const trailer = Buffer.alloc(4);
  trailer.writeInt32LE(length);
  return Buffer.concat([Buffer.from("ARROW1\0\0"), metadata, trailer, Buffer.from("ARROW1")]);
}

const fieldsOf = async (bytes: Uint8Array) => (await openIpcBytes(bytes)).schema.fields;

it("fields that are shared count as often as they are reached", async () => {
  const fields = await fieldsOf(sharedFields(3, 2));
  expect(fields.map(({ type }) => type.children.length)).toEqual([2, 2, 2]);
  for (const format of ["stream", "file"] as const) {
    const bomb = sharedFields(10_000, 40, format);
    await expect(fieldsOf(bomb)).rejects.toThrow(InvalidInputError);
    await expect(fieldsOf(bomb)).rejects.toThrow("a schema of more than 65536 fields");
  }
});

const wide = (columns: number): Table => {
  const column = makeVector(Int8Array.of(1));
  return new Table(Object.fromEntries(Array.from({ length: columns }, (_, index) => [`c${index}`, column])));
};

it("20,000 columns are no bomb, and metadata is counted too", async () => {
  const fields = Array.from({ length: 20_000 }, (_, index) => new Field(`c${index}`, new Int8()));
  const pairs = new Map(Array.from({ length: 2 ** 17 + 1 }, (_, index) => [`${index}`, ""]));
  expect(await fieldsOf(tableToIPC(new Table(new Schema(fields)), "stream"))).toHaveLength(20_000);
  for (const format of ["stream", "file"] as const) {
    const noted = new Table(new Schema(fields.slice(0, 1), pairs));
    await expect(fieldsOf(tableToIPC(noted, format))).rejects.toThrow("more than 131072 pairs of metadata");
  }
});

it("a batch has no more columns than its schema has fields", async () => {
  const [schema, batch] = [1, 2].map((columns) => {
    const stream = tableToIPC(wide(columns), "stream");
    const end = 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
    return { head: stream.subarray(0, end), rest: stream.subarray(end) };
  });
  const { batches } = await openIpcBytes(Buffer.concat([schema.head, batch.rest]));
  await expect(
    (async () => {
      for await (const each of batches) expect(each.numCols).toBe(1);
    })(),
  ).rejects.toThrow("a batch of more columns than its schema has fields");
});

it("metadata is no longer than 16 MiB", async () => {
  const head = Buffer.alloc(8 + 2 ** 24 + 8);
  head.writeUInt32LE(0xffffffff, 0);
  head.writeInt32LE(2 ** 24 + 8, 4);
  await expect(fieldsOf(head)).rejects.toThrow("metadata of 16777224 bytes");
});
