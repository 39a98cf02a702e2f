import { afterEach, expect, it } from "vitest";
import { codeSumsInKernel, codeSumsKernelUse } from "../../../../src/indexes/vector/codes/codeSumsKernel.js";
import { randomNumbers } from "../../../support/vectorTables.js";

afterEach(() => {
  codeSumsKernelUse.isOn = true;
});

it.each([
  [1, 1],
  [16, 7],
  [16, 400],
  [3, 20_001],
  [512, 1030],
])("of %i codes, %i rows", (codeCount, rowCount) => {
  const next = randomNumbers(codeCount * rowCount);
  const table = Float32Array.from({ length: codeCount * 256 }, () => next() * 100);
  const codes = Uint8Array.from({ length: codeCount * rowCount }, () => next() * 256);
  const transposed = new Uint8Array(codes.length);
  const wanted = new Float32Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    for (let code = 0; code < codeCount; code++) {
      const entry = codes[row * codeCount + code];
      transposed[code * rowCount + row] = entry;
      wanted[row] += table[code * 256 + entry];
    }
  }
  const sums = new Float32Array(rowCount);
  expect(codeSumsInKernel(table, codes, false, sums)).toBe(true);
  expect(sums).toEqual(wanted);
  sums.fill(0);
  expect(codeSumsInKernel(table, transposed, true, sums)).toBe(true);
  expect(sums).toEqual(wanted);
});

it("the kernel refuses too many codes, and is absent without WebAssembly", () => {
  const sums = new Float32Array(1);
  expect(codeSumsInKernel(new Float32Array(513 * 256), new Uint8Array(513), false, sums)).toBe(false);
  codeSumsKernelUse.isOn = false;
  expect(codeSumsInKernel(new Float32Array(256), new Uint8Array(1), false, sums)).toBe(false);
});
