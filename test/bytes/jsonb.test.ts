/** JSONB against bytes of the reference, and against JSON.parse. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJsonb, encodeJsonb, MAXIMUM_JSON_DEPTH } from "../../src/bytes/jsonb.js";
import { RUN_SEED } from "../support/effort.js";

class JsonError extends Error {}
const fail = (reason: string) => new JsonError(reason);
const encode = (text: string) => encodeJsonb(new TextEncoder().encode(text), fail);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Text, the reference's bytes for it, and the text that the reference reads back, if that differs. */
const REFERENCE: [text: string, bytes: string, read?: string][] = [
  ["null", "2000000000000000"],
  ["true", "2000000040000000"],
  ["false", "2000000030000000"],
  ['"str"', "2000000010000003737472"],
  ['"\\b\\f\\r\\t\\u0001"', "2000000010000005080c0d0901"],
  ["0", "200000002000000100"],
  ["-0", "200000002000000100", "0"],
  ["12", "2000000020000002500c"],
  ["255", "200000002000000250ff"],
  ["256", "2000000020000003500100"],
  ["65536", "20000000200000055000010000"],
  ["4294967296", "2000000020000009500000000100000000"],
  ["18446744073709551615", "200000002000000950ffffffffffffffff"],
  ["18446744073709551616", "20000000200000096043f0000000000000", "1.8446744073709552e+19"],
  ["-1", "200000002000000240ff"],
  ["-128", "20000000200000024080"],
  ["-129", "200000002000000340ff7f"],
  ["-32769", "200000002000000540ffff7fff"],
  ["-2147483649", "200000002000000940ffffffff7fffffff"],
  ["-9223372036854775808", "2000000020000009408000000000000000"],
  ["-9223372036854775809", "200000002000000960c3e0000000000000", "-9.223372036854776e+18"],
  ["1.5", "2000000020000009603ff8000000000000"],
  ["1.0", "2000000020000009603ff0000000000000"],
  ["-0.0", "2000000020000009608000000000000000"],
  ["1E5", "20000000200000096040f86a0000000000", "100000.0"],
  ["1e300", "2000000020000009607e37e43c8800759c", "1e+300"],
  ["0.00001", "2000000020000009603ee4f8b588e368f1"],
  ["5e-324", "2000000020000009600000000000000001"],
  ["12345678901234567.25", "2000000020000009604345ee2a2eb5a5c4", "1.2345678901234568e+16"],
  ["1.7976931348623157e309", "200000002000000120", "null"],
  ["[]", "80000000"],
  ["{}", "40000000"],
  ["[[[]]]", "800000015000000c800000015000000480000000"],
  ['[{"a":{}}]', "80000001500000114000000110000001500000046140000000"],
  [
    '  { "z" : "é\\u00e9\\ud83d\\ude00\\n\\/\\u0000\\u001f\\u007f\\"\\\\" }\n',
    "40000001100000011000000f7ac3a9c3a9f09f98800a2f001f7f225c",
    '{"z":"éé😀\\n/\\u0000\\u001f\u007f\\"\\\\"}',
  ],
  [
    '{"b":1,"a":[1,2.5,"x"],"":0,"é":1,"𝄞":2,"\uffff":3}',
    "40000006100000001000000110000001100000021000000310000004200000015000001c20000002200000022000000220000002" +
      "6162c3a9efbfbff09d849e00800000032000000220000009100000015001604004000000000000785001500150035002",
    '{"":0,"a":[1,2.5,"x"],"b":1,"é":1,"\uffff":3,"𝄞":2}',
  ],
];

describe("the codec reads and writes the reference's bytes", () => {
  it.each(REFERENCE)("%s", (text, bytes, read = text) => {
    expect(hex(encode(text))).toBe(bytes);
    expect(decodeJsonb(Buffer.from(bytes, "hex"), fail)).toBe(read);
  });
});

describe("the encoder refuses text that is not JSON", () => {
  it.each([
    "",
    " ",
    "{a",
    "1 2",
    '"a\tb"',
    "NaN",
    "'a'",
    "[1,]",
    "[1,,2]",
    '{"a":}',
    '{"a":1,}',
    '{"a" 1}',
    "{1:2}",
    '"\\ud800"',
    '"\\v"',
    '"\\u12"',
    '"',
    '"\\',
    "0x10",
    "+1",
    ".5",
    "01",
    "1.",
    "1e",
    "-",
    "tru",
    "nullx",
    "[",
    "]",
    '{"a":1,"a":2,"b":3}',
    '{"a":1,"\\u0061":2}',
  ])("%j", (text) => {
    expect(() => encode(text)).toThrow(JsonError);
  });

  it("of endless nesting", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(decodeJsonb(encode(nested(MAXIMUM_JSON_DEPTH)), fail)).toBe(nested(MAXIMUM_JSON_DEPTH));
    expect(() => encode(nested(MAXIMUM_JSON_DEPTH + 1))).toThrow(JsonError);
    expect(() => encode("[".repeat(1_000_000))).toThrow(JsonError);
  });
});

describe("any JSON value", () => {
  const seed = RUN_SEED;
  console.info(`jsonb: seed ${seed}`);

  it("keeps its meaning in JSONB", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const text = JSON.stringify(value, (_, part) => (Object.is(part, -0) ? 0 : part));
        const back = decodeJsonb(encode(text), fail);
        expect(JSON.parse(back)).toEqual(JSON.parse(text));
        // The read text is written as the same bytes.
        expect(hex(encode(back))).toBe(hex(encode(text)));
      }),
      { numRuns: 400, seed },
    );
  });

  it("is read or refused with a JsonError when its bytes are damaged", () => {
    const damage = fc.record({ index: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), cut: fc.nat(3) });
    fc.assert(
      fc.property(fc.jsonValue(), damage, (value, { index, byte, cut }) => {
        const bytes = encode(JSON.stringify(value));
        bytes[index % bytes.length] = byte;
        const damaged = cut === 0 ? bytes.subarray(0, index % (bytes.length + 1)) : bytes;
        try {
          JSON.parse(decodeJsonb(damaged, fail));
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
        }
      }),
      { numRuns: 1_000, seed },
    );
  });
});
