import { Table, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { int32s, int64s } from "../../support/arrowColumns.js";
import { makeTempDir } from "../../support/tempDir.js";

const edge = fc.constantFrom(
  ...[0n, 1n, -1n, 7n, -7n, 100n, 2n ** 31n - 1n, 2n ** 31n, -(2n ** 31n), -(2n ** 31n) - 1n],
  ...[2n ** 32n, 2n ** 53n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)],
);
const integer = fc.oneof(
  edge,
  fc.bigInt({ min: -200n, max: 200n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);

it("remainders of columns, and by a number, follow the definition", async () => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const id = ["t"];
  const pair = fc.tuple(
    integer,
    integer.filter((divisor) => divisor !== 0n),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { minLength: 1, maxLength: 40 }), async (pairs) => {
      const table = new Table({
        a: int64s(pairs.map(([a]) => a)),
        b: int64s(pairs.map(([, b]) => b)),
        n: int32s(pairs.map(([a]) => Number(BigInt.asIntN(32, a)))),
      });
      await namespace.createTable({ id, mode: "overwrite" }, tableToIPC(table, "stream"));
      const columnAliases = { rest: "a % b", ofNumber: "n % 100", negative: "n % -7" };
      const result = await (await namespace.queryTable({ id, columns: { columnAliases } })).toArrow();
      const values = (name: string) => [...(result.getChild(name) ?? [])].map(BigInt);
      expect(values("rest")).toEqual(pairs.map(([a, b]) => a % b));
      expect(values("ofNumber")).toEqual(pairs.map(([a]) => BigInt.asIntN(32, a) % 100n));
      expect(values("negative")).toEqual(pairs.map(([a]) => BigInt.asIntN(32, a) % -7n));
    }),
    { numRuns: 40 },
  );
});
