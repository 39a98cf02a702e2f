/** Bodies with rows in JSON are split into rows, whatever their pieces are, within bounds. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonRows } from "../../../src/rest/http/readJsonRows.js";

const utf8 = new TextEncoder();

interface Options {
  readonly isLines?: boolean;
  readonly maxRowBytes?: number;
  readonly maxMembers?: number;
  readonly pieceBytes?: number;
}

/** Memory that notes what was held. */
function memory() {
  const held: number[] = [];
  return {
    held,
    share: {
      hold: (_: string, bytes: number) => void held.push(bytes),
      note: () => {},
      spareBytes: () => 2 ** 40,
    },
  };
}

async function groupsOf(
  body: string | Uint8Array,
  { isLines = false, maxRowBytes = 2 ** 20, maxMembers = 100, pieceBytes = 7 }: Options = {},
) {
  const bytes = typeof body === "string" ? utf8.encode(body) : body;
  async function* pieces() {
    for (let start = 0; start < bytes.length; start += pieceBytes)
      yield bytes.slice(start, start + pieceBytes);
  }
  const { held, share } = memory();
  const groups: (readonly unknown[])[] = [];
  for await (const group of readJsonRows(pieces(), { isLines, maxRowBytes, maxMembers, memory: share }))
    groups.push(group);
  return { groups, rows: groups.flat(), most: Math.max(0, ...held) };
}

const refusal = async (body: string | Uint8Array, options?: Options) => {
  try {
    await groupsOf(body, options);
  } catch (error) {
    const { status, message } = error as { status: number; message: string };
    return [status, message];
  }
  return "accepted";
};

describe("rows in JSON", () => {
  it("any rows in any pieces are read as they were written", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 5 }))),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        fc.constantFrom(undefined, 2),
        async (values, pieceBytes, isLines, indent) => {
          const rows = JSON.parse(JSON.stringify(values)) as unknown[];
          const body = isLines
            ? rows.map((row) => JSON.stringify(row)).join("\r\n")
            : `\n ${JSON.stringify(rows, null, indent)}\t`;
          expect((await groupsOf(body, { isLines, pieceBytes })).rows).toEqual(rows);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("text that is cut or changed is read like JSON.parse reads it, or refused", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
        fc.nat(200),
        fc.constantFrom("", "{", "}", "[", "]", ",", '"', "\\", " ", "1", "x"),
        async (rows, place, inserted) => {
          const text = JSON.stringify(rows);
          const index = place % (text.length + 1);
          const body = text.slice(0, index) + inserted + text.slice(index + 1);
          let expected: unknown;
          try {
            expected = JSON.parse(body);
          } catch {
            expected = undefined;
          }
          const answer = await groupsOf(body).then(
            (read) => read.rows,
            (error: { status: number }) => error.status,
          );
          expect(answer).toEqual(Array.isArray(expected) ? expected : 400);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("no line, or only blank ones, are no rows", async () => {
    for (const body of ["", "\n", "\r\n \n\t\n"]) {
      expect((await groupsOf(body, { isLines: true })).groups.flat()).toEqual([]);
    }
    expect((await groupsOf("[]")).rows).toEqual([]);
    expect((await groupsOf("\ufeff[ ]\n")).rows).toEqual([]);
  });

  it("the error names the row or line, from the start of the body", async () => {
    const cases: [body: string | Uint8Array, isLines: boolean, answer: [number, RegExp]][] = [
      ['[{"a":1},{"a":}]', false, [400, /^row 1: is not JSON: /]],
      ['{"a":1}\n\n{"a":', true, [400, /^line 3: is not JSON: /]],
      ['{"a":1}{"a":2}', true, [400, /^line 1: is not JSON: /]],
      ['{"a":[1\n2]}', true, [400, /^line 1: is not JSON: /]],
      ['{"a":1}', false, [400, /^the body must be a JSON array of objects/]],
      ["", false, [400, /^the body must be a JSON array of objects/]],
      ["[", false, [400, /^the array ends within or after row 0$/]],
      ['[{"a":1},', false, [400, /^the array ends within or after row 1$/]],
      ["[1,]", false, [400, /^row 1: is not JSON/]],
      ["[1}", false, [400, /^row 0: has a brace that nothing opened$/]],
      ["[][]", false, [400, /^the body has more than one array$/]],
      [new Uint8Array([0x5b, 0xff, 0x5d]), false, [400, /^the body is not UTF-8$/]],
      [new Uint8Array([0x22, 0xe2, 0x82]), true, [400, /^the body is not UTF-8$/]],
      [`[${"[".repeat(65)}`, false, [400, /^row 0: is nested deeper than 64 levels$/]],
    ];
    for (const [body, isLines, [status, message]] of cases) {
      const answer = await refusal(body, { isLines });
      expect(answer, String(body)).toEqual([status, expect.stringMatching(message)]);
    }
  });

  it("a row beyond the bound is refused before its end arrives", async () => {
    const long = `{"a":"${"x".repeat(5000)}`;
    for (const isLines of [true, false]) {
      const body = isLines ? long : `[${long}`;
      const name = isLines ? "line 1" : "row 0";
      expect(await refusal(body, { isLines, maxRowBytes: 1000 })).toEqual([
        413,
        `${name}: has more than 1000 bytes`,
      ]);
    }
    const commas = `{"a":[${"1,".repeat(300_000)}1]}`;
    expect(await refusal(commas, { isLines: true, pieceBytes: 2 ** 16 })).toEqual([
      413,
      "line 1: has more than 262144 commas",
    ]);
    const members = `{${"1:2,".replace("1", '"a"').repeat(100)}"b":{"c":1,"d":2}}`;
    expect(await refusal(`[${members}]`)).toEqual([413, "row 0: has more than 100 members"]);
    const nodes = `{"a":[${"[],".repeat(70_000)}1]}`;
    expect(await refusal(`[${nodes}]`, { pieceBytes: 2 ** 16 })).toEqual([
      413,
      "row 0: has more than 65536 objects and arrays",
    ]);
  });

  it("the thread does other work while one large piece is parsed", async () => {
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const body = `[${'{"a":[1,2,3],"b":"text"},'.repeat(400_000)}{}]`;
    expect((await groupsOf(body, { pieceBytes: body.length })).rows).toHaveLength(400_001);
    isDone = true;
    expect(turns).toBeGreaterThan(20);
  });

  it("groups and the memory held for them are bounded, however many rows there are", async () => {
    const line = `{"id":1,"text":"${"x".repeat(80)}"}\n`;
    const body = line.repeat(30_000);
    const { groups, rows, most } = await groupsOf(body, {
      isLines: true,
      pieceBytes: body.length,
      maxRowBytes: 2 ** 16,
    });
    expect(rows).toHaveLength(30_000);
    for (const group of groups) expect(group.length).toBeLessThanOrEqual(2 * (2 ** 16 / line.length) + 1);
    expect(most).toBeLessThan(2 ** 20);
    const small = await groupsOf("{}\n".repeat(20_000), { isLines: true, pieceBytes: 2 ** 20 });
    for (const group of small.groups) expect(group.length).toBeLessThanOrEqual(8192 + 2 ** 16 / 3);
  });
});
