/**
 * Runs automata over texts (textAutomaton.ts) as a WebAssembly kernel: the loop of `runPlainly` in textTest.ts. A step
 * of the automaton is one look-up of 16 bytes by 16 bytes, and does not wait for a load, whose address would depend on
 * the step before. Its memory:
 *
 *     steps      2 × 256 × 16 bytes: of each code, and of each byte
 *     yes, open  16 bytes each: by state all ones, or 0
 *     yesBits    a bit for each text
 *     openBits   the same
 *     states     a byte for each text: the state in which it ends
 *     offsets    i32 for each text, and one for the end
 *     texts      codes or bytes
 */

import {
  add,
  atLeast,
  below,
  block,
  constant,
  equal,
  get,
  type Kernel,
  KernelUse,
  kernel,
  laneOfBytes,
  leave,
  leaveWhen,
  load,
  load8,
  loop,
  set,
  shiftLeft,
  signsOfBytes,
  store8,
  store16,
  swizzle,
  vectorConstant,
  vectorLoad,
  when,
} from "../../bytes/wasm.js";
import { FAULT, STATES } from "./textAutomaton.js";

/** Texts that are looked at in one call. */
const PIECE_TEXTS = 4096;
/** Bytes of these. */
const PIECE_BYTES = 48 * 1024;

const STEPS = 0;
const STEP_BYTES = 2 * 256 * STATES;
const YES = STEPS + STEP_BYTES;
const OPEN = YES + STATES;
const YES_BITS = OPEN + STATES;
const OPEN_BITS = YES_BITS + PIECE_TEXTS / 8;
const ENDS = OPEN_BITS + PIECE_TEXTS / 8;
const OFFSETS = ENDS + PIECE_TEXTS;
const TEXTS = OFFSETS + 4 * (PIECE_TEXTS + 4);
const PAGES = Math.ceil((TEXTS + PIECE_BYTES + 16) / 65536);

/** Number of the steps of byte 0. */
export const OF_BYTES = 256;

const textKernel = (): Kernel | null =>
  kernel({
    parameters: ["count", "shift", "base", "escaping", "final"],
    locals: ["text", "at", "end", "code", "out"],
    vectors: ["state"],
    pages: PAGES,
    body: (local) => {
      const [text, at, end, code, out] = ["text", "at", "end", "code", "out"].map(local);
      const state = local("state");
      const zeros = vectorConstant(new Array(16).fill(0));
      const offset = (place: number) =>
        add(load(add(shiftLeft(get(text), constant(2)), constant(OFFSETS)), place), get(local("shift")));
      const takeByte = [set(code, load8(get(at))), set(at, add(get(at), constant(1)))];
      const steps = add(shiftLeft(get(code), constant(4)), get(local("base")));
      return [
        loop(
          set(at, offset(0)),
          set(end, offset(4)),
          set(state, zeros),
          block(
            leaveWhen(0, atLeast(get(at), get(end))),
            loop(
              takeByte,
              when(equal(get(code), get(local("escaping"))), [
                when(atLeast(get(at), get(end)), [
                  set(state, vectorConstant(new Array(16).fill(FAULT))),
                  leave(3),
                ]),
                takeByte,
                set(code, add(get(code), constant(OF_BYTES))),
              ]),
              set(state, swizzle(vectorLoad(steps, STEPS), get(state))),
              leaveWhen(1, atLeast(laneOfBytes(get(state), 0), get(local("final")))),
              leaveWhen(0, below(get(at), get(end))),
            ),
          ),
          store8(add(get(text), constant(ENDS)), laneOfBytes(get(state), 0)),
          set(text, add(get(text), constant(1))),
          leaveWhen(0, below(get(text), get(local("count")))),
        ),
        set(text, constant(0)),
        loop(
          set(state, vectorLoad(get(text), ENDS)),
          store16(
            add(get(out), constant(YES_BITS)),
            signsOfBytes(swizzle(vectorLoad(constant(YES)), get(state))),
          ),
          store16(
            add(get(out), constant(OPEN_BITS)),
            signsOfBytes(swizzle(vectorLoad(constant(OPEN)), get(state))),
          ),
          set(out, add(get(out), constant(2))),
          set(text, add(get(text), constant(16))),
          leaveWhen(0, below(get(text), get(local("count")))),
        ),
      ];
    },
  });

/** The kernel with the views of its memory. */
class TextKernel {
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #offsets: Int32Array;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#offsets = new Int32Array(memory, OFFSETS, PIECE_TEXTS + 1);
  }

  /** Sets the automaton that the next calls run. */
  setSteps(steps: Uint8Array, accepts: readonly boolean[], isOpen: readonly boolean[]): void {
    this.#bytes.set(steps, STEPS);
    for (let state = 0; state < STATES; state++) {
      this.#bytes[YES + state] = accepts[state] === true ? 0xff : 0;
      this.#bytes[OPEN + state] = isOpen[state] === true || state === FAULT ? 0xff : 0;
    }
  }

  /**
   * Looks at texts from number `first`, a multiple of 8, on.
   * @param offsets ascending
   * @param yes, open bits that are set, from that of text `first` on
   * @returns how many were looked at: a multiple of 8 or all; 0 where the next ones are too long
   */
  run(
    texts: Uint8Array,
    offsets: Int32Array,
    first: number,
    last: number,
    base: number,
    escaping: number,
    firstFinal: number,
    yes: Uint8Array,
    open: Uint8Array,
  ): number {
    const start = offsets[first];
    let end = Math.min(last, first + PIECE_TEXTS);
    while (offsets[end] - start > PIECE_BYTES) {
      const half = (end - first) >>> 1;
      end = first + (half & ~7);
      if (half < 8) return 0;
    }
    const count = end - first;
    this.#bytes.set(texts.subarray(start, offsets[end]), TEXTS);
    this.#offsets.set(offsets.subarray(first, end + 1));
    this.#run(count, TEXTS - start, base, escaping, firstFinal);
    const bytes = (count + 7) >>> 3;
    yes.set(this.#bytes.subarray(YES_BITS, YES_BITS + bytes), first >>> 3);
    open.set(this.#bytes.subarray(OPEN_BITS, OPEN_BITS + bytes), first >>> 3);
    return count;
  }
}

export const textKernelUse = new KernelUse(() => {
  const made = textKernel();
  return made === null ? null : new TextKernel(made);
});
