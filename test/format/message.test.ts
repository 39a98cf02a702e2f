import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../src/errors.js";
import { Field } from "../../src/format/file.js";
import { DeletionFile, Manifest, Transaction, UpdateMap } from "../../src/format/table.js";

const ORIGIN = { path: "m", byteOffset: 100 };

describe("a message", () => {
  it("omits defaults, and writes optional fields that are zero", () => {
    expect(Manifest.encode(Manifest.create())).toEqual(new Uint8Array(0));
    expect(Manifest.encode(Manifest.create({ maxFragmentId: 0 }))).toEqual(Uint8Array.of(0x58, 0));
    expect(Manifest.decode(Uint8Array.of(0x58, 0), ORIGIN).maxFragmentId).toBe(0);
    expect(Manifest.decode(new Uint8Array(0), ORIGIN).maxFragmentId).toBeUndefined();
  });

  it("writes a negative int32 as ten bytes", () => {
    const bytes = Field.encode(Field.create({ parentId: -1 }));
    expect(bytes).toEqual(Uint8Array.of(0x20, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1));
    expect(Field.decode(bytes, ORIGIN).parentId).toBe(-1);
  });

  it("keeps all 64 bits of big kinds, and refuses others beyond 2^53", () => {
    const id = 2n ** 64n - 3n;
    const bytes = DeletionFile.encode(DeletionFile.create({ id }));
    expect(DeletionFile.decode(bytes, ORIGIN).id).toBe(id);
    // The same varint as the version of a manifest.
    expect(() => Manifest.decode(bytes, ORIGIN)).toThrow(CorruptFileError);
  });

  it("distinguishes absent and empty values of a map update", () => {
    const update = UpdateMap.create({
      updateEntries: [
        { key: "gone", value: undefined },
        { key: "empty", value: "" },
      ],
    });
    expect(UpdateMap.decode(UpdateMap.encode(update), ORIGIN)).toEqual(update);
  });

  it("writes unknown fields after its own", () => {
    const encoded = Transaction.encode(Transaction.create({ readVersion: 3, uuid: "u" }));
    const foreign = Uint8Array.of(0xa2, 0x0f, 2, 8, 1);
    const decoded = Transaction.decode(Uint8Array.from([...foreign, ...encoded]), ORIGIN);
    expect([decoded.readVersion, decoded.unknown]).toEqual([3, foreign]);
    expect(Transaction.encode(decoded)).toEqual(Uint8Array.from([...encoded, ...foreign]));
  });

  it("decodes or is refused as corrupt, for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const declaration of [Manifest, Transaction]) {
          try {
            declaration.decode(bytes, ORIGIN);
          } catch (error) {
            expect(error).toBeInstanceOf(CorruptFileError);
            expect((error as CorruptFileError).byteOffset).toBeGreaterThanOrEqual(100);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });
});
