import { LargeUtf8, Utf8 } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeValues } from "../../../src/arrow/objects/decodeValues.js";
import { encodeValues } from "../../../src/arrow/objects/encodeValues.js";
import { fieldOf } from "../../support/arrowColumns.js";

const FORMS = { dates: "Date", bigints: "bigint" } as const;
const origin = { path: "s", rowOf: (index: number) => index };

describe.for([["text", new Utf8()] as const, ["large text", new LargeUtf8()] as const])("%s", ([, type]) => {
  it("comes back as it was given, with a byte order mark at its start", () => {
    const unit = fc.constantFrom("a", "é", "漢", "🦀", "\ufeff", "\0");
    const texts = fc.array(fc.option(fc.string({ unit, maxLength: 40 }), { freq: 6 }), { maxLength: 50 });
    fc.assert(
      fc.property(texts, (values) => {
        expect(decodeValues(encodeValues(values, fieldOf("s", type), origin), type, FORMS)).toEqual(values);
      }),
    );
  });
});
