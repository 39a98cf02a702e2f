import { expect, it } from "vitest";
import { KernelUse, kernel } from "../../../src/bytes/wasm/kernel.js";
import { Integer, Vector } from "../../../src/bytes/wasm/values.js";

/** Runs a kernel of one page and returns the first words of its memory. */
function wordsAfter(write: Parameters<typeof kernel>[1], ...parameters: number[]): Int32Array {
  const compiled = kernel(1, write);
  compiled?.run(...parameters);
  return new Int32Array(compiled?.memory ?? new ArrayBuffer(0), 0, 8);
}

it("loops run as long as their condition holds", () => {
  const words = wordsAfter((wasm) => {
    const [count] = wasm.parameters();
    const [left, sum, skipped, once] = wasm.integers();
    left.set(count);
    wasm.repeat(left, () => sum.increase(left));
    wasm.while(left.below(0), () => skipped.increase(1));
    wasm.doWhile(() => once.increase(1), left.below(0));
    for (const [index, local] of [sum, skipped, once].entries()) wasm.store(4 * index, local);
  }, 10);
  expect([...words.subarray(0, 3)]).toEqual([55, 0, 1]);
});

it("labels jump out of nested blocks, and to the start of loops", () => {
  const words = wordsAfter((wasm) => {
    const [rounds, passed] = wasm.integers();
    wasm.block((isDone) => {
      wasm.loop((again) => {
        rounds.increase(1);
        wasm.when(
          rounds.below(5),
          () => again.jump(),
          () => wasm.block(() => isDone.jump()),
        );
      });
      passed.set(1);
    });
    wasm.store(0, rounds);
    wasm.store(4, passed);
    wasm.returnWhen(rounds);
    wasm.store(8, 1);
  });
  expect([...words.subarray(0, 3)]).toEqual([5, 0, 0]);
});

it("locals of several types keep their values apart", () => {
  const words = wordsAfter((wasm) => {
    const [integer] = wasm.integers();
    const [vector] = wasm.vectors();
    const [double] = wasm.doubles();
    const [late] = wasm.integers();
    integer.set(7);
    vector.set(Vector.ofWord(3));
    vector.increase("i32x4", Vector.ofWord(2));
    double.set(Integer.of(9).toDouble().squareRoot());
    late.set(integer.minus(8).choose(1, 2));
    wasm.store(0, vector.sumOfWords());
    wasm.store(4, double.toFloat().toBits());
    wasm.store(8, late);
    wasm.store(12, integer.load8().shiftLeft(integer));
  });
  expect(words[0]).toBe(20);
  expect(new Float32Array(words.buffer)[1]).toBe(3);
  // Byte 7 is the highest of the float 3.
  expect([...words.subarray(2, 4)]).toEqual([1, 0x40 << 7]);
});

it("a kernel that is off, or that the runtime lacks, gives null", () => {
  const use = KernelUse.of(
    () => kernel(1, () => {}),
    ({ memory }) => memory.byteLength,
  );
  expect(use.get()).toBe(65_536);
  use.isOn = false;
  expect(use.get()).toBeNull();
  expect(new KernelUse(() => null).get()).toBeNull();
});
