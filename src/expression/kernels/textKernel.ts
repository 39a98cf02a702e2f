/**
 * Runs automata over texts (textAutomaton.ts) as a WebAssembly kernel: the loop of `runPlainly` in textQuestion.ts. A step
 * of the automaton is one look-up of 16 bytes by 16 bytes, and does not wait for a load, whose address would depend on
 * the step before. Its memory:
 *
 *     steps      2 × 256 × 16 bytes: of each code, and of each byte
 *     sets       2 × 16 bytes: which codes, or bytes, may complete what is asked for. By their low 4 bits: a bit for each
 *                of the high 4 bits below 8, and from 8 on
 *     yes, open  16 bytes each: by state all ones, or 0
 *     yesBits    a bit for each text
 *     openBits   the same
 *     states     a byte for each text: the state in which it ends
 *     hits       a bit for each code, or byte: whether it is in the sets
 *     offsets    i32 for each text, and one for the end
 *     texts      codes or bytes
 */

import {
  add,
  and,
  atLeast,
  below,
  block,
  bytesThatDiffer,
  type Code,
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
  shiftRight,
  signsOfBytes,
  store8,
  store16,
  subtract,
  swizzle,
  vectorAnd,
  vectorConstant,
  vectorLoad,
  vectorOfWords,
  vectorOr,
  vectorShiftRight,
  when,
} from "../../bytes/wasm.js";
import { FAULT, STATES } from "./textAutomaton.js";

/** Texts that are looked at in one call. */
const PIECE_TEXTS = 4096;
/** Bytes of these. */
const PIECE_BYTES = 48 * 1024;

const STEPS = 0;
const STEP_BYTES = 2 * 256 * STATES;
const LOW_SETS = STEPS + STEP_BYTES;
const HIGH_SETS = LOW_SETS + 16;
const YES = HIGH_SETS + 16;
const OPEN = YES + STATES;
const YES_BITS = OPEN + STATES;
const OPEN_BITS = YES_BITS + PIECE_TEXTS / 8;
const ENDS = OPEN_BITS + PIECE_TEXTS / 8;
const HITS = ENDS + PIECE_TEXTS;
const OFFSETS = HITS + PIECE_BYTES / 8 + 8;
const TEXTS = OFFSETS + 4 * (PIECE_TEXTS + 4);
const PAGES = Math.ceil((TEXTS + PIECE_BYTES + 16) / 65536);

/** Number of the steps of byte 0. */
export const OF_BYTES = 256;

const textKernel = (): Kernel | null =>
  kernel({
    parameters: ["count", "shift", "base", "escaping", "final", "bytes"],
    locals: ["text", "at", "end", "code", "out"],
    vectors: ["state", "low", "high"],
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
        when(get(local("bytes")), markHits(local)),
        loop(
          set(at, offset(0)),
          set(end, offset(4)),
          set(state, zeros),
          block(
            leaveWhen(0, atLeast(get(at), get(end))),
            leaveWhen(0, hasNoHit(get(at), get(end), get(local("bytes")))),
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

/** Marks the codes that are in the sets, 16 at a time. */
function markHits(local: (name: string) => number): Code {
  const [at, low, high] = ["at", "low", "high"].map(local);
  const bitsOfHigh = (first: number): Code =>
    vectorConstant(Array.from({ length: 16 }, (_, place) => (place >>> 3 === first ? 1 << (place & 7) : 0)));
  const inSet = (set: number, half: number): Code =>
    vectorAnd(swizzle(vectorLoad(constant(set)), get(low)), swizzle(bitsOfHigh(half), get(high)));
  return loop(
    set(low, vectorLoad(get(at), TEXTS)),
    set(high, vectorShiftRight("i8x16", get(low), constant(4))),
    set(low, vectorAnd(get(low), vectorOfWords(0x0f0f0f0f))),
    store16(
      add(shiftRight(get(at), constant(3)), constant(HITS)),
      signsOfBytes(bytesThatDiffer(vectorOr(inSet(LOW_SETS, 0), inSet(HIGH_SETS, 1)), vectorOfWords(0))),
    ),
    set(at, add(get(at), constant(16))),
    leaveWhen(0, below(get(at), get(local("bytes")))),
  );
}

/** Hits that are looked at at once: of longer texts it is not known that they have none. */
const MAX_HITS = 24;

/** Whether hits were marked, and a text has none. */
function hasNoHit(at: Code, end: Code, isMarked: Code): Code {
  const place = subtract(at, constant(TEXTS));
  const length = subtract(end, at);
  const hits = shiftRight(load(shiftRight(place, constant(3)), HITS), and(place, constant(7)));
  const some = subtract(shiftLeft(constant(1), length), constant(1));
  const isShort = and(below(length, constant(MAX_HITS + 1)), below(constant(0), isMarked));
  return and(isShort, equal(and(hits, some), constant(0)));
}

/** The kernel with the views of its memory. */
class TextKernel {
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #offsets: Int32Array;
  #marksHits = false;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#offsets = new Int32Array(memory, OFFSETS, PIECE_TEXTS + 1);
  }

  /**
   * Sets the automaton that the next calls run.
   * @param completing the codes, or bytes, one of which each text has that is not simply turned away; null where that is
   *   not known
   */
  setSteps(
    steps: Uint8Array,
    accepts: readonly boolean[],
    isOpen: readonly boolean[],
    completing: readonly number[] | null,
  ): void {
    this.#bytes.set(steps, STEPS);
    this.#marksHits = completing !== null;
    this.#bytes.fill(0, LOW_SETS, HIGH_SETS + 16);
    for (const code of completing ?? []) {
      this.#bytes[(code < 128 ? LOW_SETS : HIGH_SETS) + (code & 15)] |= 1 << ((code >>> 4) & 7);
    }
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
    const hitBytes = this.#marksHits ? offsets[end] - start : 0;
    this.#run(count, TEXTS - start, base, escaping, firstFinal, hitBytes);
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
