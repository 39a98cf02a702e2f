import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sharedPrefix, sharedSuffix } from "../../../src/bytes/commonEnds.js";
import { CorruptFileError } from "../../../src/errors.js";
import { FieldRanges } from "../../../src/format/fieldRanges.js";
import {
  DataFile,
  DataFragment,
  FRAGMENTS_FIELD,
  Manifest,
  ManifestHead,
  Timestamp,
} from "../../../src/format/table.js";
import type { Disk, ReadHandle } from "../../../src/io/disk/disk.js";
import { VersionFiles } from "../../../src/table/cleanup/referencedFiles.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { type ManifestImage, ManifestReader } from "../../../src/table/versions/manifestImages.js";
import { manifestPath } from "../../../src/table/versions/paths.js";
import type { VersionEntry } from "../../../src/table/versions/versions.js";
import { joinChunks } from "../support.js";

const ORIGIN = { path: "m", byteOffset: 100 };

/** Makes a fragment whose name has any length, so that lengths take one, two or three bytes. */
const fragmentOf = (id: number, name: string): DataFragment =>
  DataFragment.create({ id, files: [DataFile.create({ path: name })], physicalRows: 1 });

const fragments = fc.array(
  fc.record({ id: fc.nat({ max: 5 }), size: fc.constantFrom(1, 2, 3, 130, 20_000) }),
  { maxLength: 12 },
);

/** Manifests of a table in memory, one per version. */
class Memory {
  readonly #files = new Map<string, Uint8Array>();
  readonly entries: VersionEntry[] = [];
  opened = 0;

  add(manifest: Manifest): void {
    const { chunks } = encodeManifestFile({ manifest, indexSectionBytes: null, transactionBytes: null });
    const path = manifestPath("/t", manifest.version, "V2");
    this.#files.set(path, joinChunks(chunks));
    this.entries.push({ version: manifest.version, scheme: "V2", path });
  }

  readonly disk = {
    open: async (path: string): Promise<ReadHandle | null> => {
      const bytes = this.#files.get(path);
      this.opened++;
      if (bytes === undefined) return null;
      return {
        path,
        size: bytes.length,
        identity: String(bytes.length),
        read: async (start, length) => bytes.slice(start, start + length),
        close: async () => undefined,
      };
    },
  } as Partial<Disk> as Disk;
}

async function withImages(
  versions: readonly (readonly DataFragment[])[],
  use: (images: ManifestImage[]) => Promise<void>,
): Promise<void> {
  const memory = new Memory();
  for (const [index, list] of versions.entries()) {
    const timestamp = Timestamp.create({ seconds: 1 + index * 1000 });
    memory.add(Manifest.create({ version: index + 1, fragments: [...list], timestamp }));
  }
  const images: ManifestImage[] = [];
  await new ManifestReader(memory.disk).forEach(memory.entries, async (image) => {
    image.keep();
    images.push(image);
  });
  await use(images);
}

describe("shared bytes", () => {
  it("are the longest common part at one end", () => {
    const bytes = fc.uint8Array({ max: 2, maxLength: 9 });
    fc.assert(
      fc.property(bytes, bytes, fc.nat({ max: 200_000 }), (a, b, common) => {
        const middle = Uint8Array.from({ length: common }, (_, index) => index % 7);
        const plain = (x: Uint8Array, y: Uint8Array) => {
          let shared = 0;
          while (shared < Math.min(x.length, y.length) && x[shared] === y[shared]) shared++;
          return shared;
        };
        const [front, back] = [
          [joinChunks([middle, a]), joinChunks([middle, b])],
          [joinChunks([a, middle]), joinChunks([b, middle])],
        ];
        expect(sharedPrefix(front[0], front[1])).toBe(plain(front[0], front[1]));
        expect(sharedSuffix(back[0], back[1])).toBe(plain(back[0].toReversed(), back[1].toReversed()));
      }),
    );
  });
});

describe("ranges of a field", () => {
  it("equal those of a decoder", () => {
    fc.assert(
      fc.property(fragments, fc.boolean(), (list, hasConfig) => {
        const encoded = Manifest.encode(
          Manifest.create({
            version: 7,
            fragments: list.map(({ id, size }) => fragmentOf(id, "x".repeat(size))),
            config: new Map(hasConfig ? [["a", "b"]] : []),
          }),
        );
        const ranges = new FieldRanges(FRAGMENTS_FIELD);
        // Earlier ranges are forgotten.
        ranges.locate(Manifest.encode(Manifest.create({ fragments: [fragmentOf(9, "y")] })), ORIGIN);
        ranges.locate(encoded, ORIGIN);
        expect(ranges.count).toBe(list.length);
        for (const [index, { id, size }] of list.entries()) {
          const bytes = encoded.subarray(ranges.startAt(index), ranges.endAt(index));
          const fragment = DataFragment.decode(bytes, ORIGIN);
          expect([fragment.id, fragment.files[0].path.length]).toEqual([id, size]);
          expect(encoded[ranges.tagAt(index)] >>> 3).toBe(FRAGMENTS_FIELD);
        }
      }),
    );
  });

  it("and views of some fields are found in all valid messages, and in no other bytes", () => {
    const ranges = new FieldRanges(FRAGMENTS_FIELD);
    const outcomeOf = (run: () => unknown): unknown => {
      try {
        return run();
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptFileError);
        return "refused";
      }
    };
    const messages = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      // Fields of all kinds and numbers, with valid and invalid lengths.
      fc
        .array(fc.tuple(fc.nat({ max: 20 }), fc.constantFrom(0, 1, 2, 5), fc.nat({ max: 9 })), {
          maxLength: 8,
        })
        .map((fields) =>
          Uint8Array.from(
            fields.flatMap(([number, wireType, value]) => {
              const tag = (number << 3) | wireType;
              return [...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), value, ...Array(value).fill(1)];
            }),
          ),
        ),
    );
    fc.assert(
      fc.property(messages, (bytes) => {
        const whole = outcomeOf(() => Manifest.decode(bytes, ORIGIN));
        const head = outcomeOf(() => ManifestHead.decode(bytes, ORIGIN));
        const located = outcomeOf(() => ranges.locate(bytes, ORIGIN));
        if (whole === "refused") return;
        expect(located).toBeUndefined();
        expect(ranges.count).toBe((whole as Manifest).fragments.length);
        const { version, transactionFile, timestamp, maxFragmentId } = whole as Manifest;
        expect(head).toMatchObject({ version, transactionFile, timestamp });
        expect(head).not.toHaveProperty("maxFragmentId", maxFragmentId ?? null);
      }),
      { numRuns: 500 },
    );
  });
});

describe("an image of a manifest", () => {
  it("tells every fragment that another image lacks", async () => {
    await fc.assert(
      fc.asyncProperty(fragments, fragments, fragments, async (front, mine, others) => {
        const lists = [
          [...front, ...mine, ...front],
          [...front, ...others, ...front],
        ].map((list) => list.map(({ id, size }) => fragmentOf(id, "x".repeat(size))));
        await withImages(lists, async ([image, previous]) => {
          const previousBytes = new Set(lists[1].map((each) => DataFragment.encode(each).join()));
          const told = new Set(image.unsharedWith(previous));
          for (const [index, fragment] of lists[0].entries()) {
            const isKnown = previousBytes.has(DataFragment.encode(fragment).join());
            if (!isKnown) expect(told).toContain(index);
            expect(image.fragmentAt(index)).toEqual(fragment);
          }
          expect([...image.unsharedWith(null)]).toEqual(lists[0].map((_, index) => index));
        });
      }),
    );
  });

  it.each([
    [
      "appends",
      200,
      (list: DataFragment[], version: number) => [...list, fragmentOf(version, `a${version}`)],
    ],
    [
      "deletions from scattered fragments",
      200,
      (list: DataFragment[], version: number) =>
        list.map((each) => (each.id % 40 === version % 40 ? fragmentOf(each.id, `d${version}`) : each)),
    ],
    [
      "merges of a few",
      40,
      (list: DataFragment[], version: number) => [
        ...list.filter(({ id }) => id % 50 !== version % 50),
        fragmentOf(1000 * version, `m${version}`),
      ],
    ],
  ])("of a history of %s tells the new fragments", async (_, versions, change) => {
    let list = Array.from({ length: 300 }, (_, id) => fragmentOf(id, `f${id}`));
    const lists = [list];
    let added = 0;
    for (let version = 1; version < versions; version++) {
      const next = change(list, version);
      added += next.filter((each) => !list.includes(each)).length;
      lists.push(next);
      list = next;
    }
    await withImages(lists, async (images) => {
      let told = 0;
      for (const [index, image] of images.entries()) {
        if (index > 0) told += [...image.unsharedWith(images[index - 1])].length;
      }
      expect(told).toBe(added);
    });
  });
});

describe("files of versions", () => {
  it("equal the union over all versions, in any order", async () => {
    const histories = fc.array(fc.tuple(fragments, fc.boolean()), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const named = history.map(([list]) =>
          list.map(({ id, size }, index) => fragmentOf(id, `${index}/${"x".repeat(size)}`)),
        );
        await withImages(named, async (images) => {
          const files = new VersionFiles();
          const needed = new Set<string>();
          const all = new Set<string>();
          for (const [index, image] of images.entries()) {
            const isNeeded = history[index][1];
            await (isNeeded ? files.addNeeded(image) : files.addReleased(image));
            for (const fragment of named[index]) {
              all.add(fragment.files[0].path);
              if (isNeeded) needed.add(fragment.files[0].path);
            }
          }
          expect(files.needed.data).toEqual(needed);
          expect(new Set([...files.needed.data, ...files.released.data])).toEqual(all);
        });
      }),
    );
  });
});
