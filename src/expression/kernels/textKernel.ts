/**
 * Runs automata over texts (textAutomaton.ts) as a WebAssembly kernel: the loop of `askPlainly` in
 * textQuestion.ts. One step of the automaton looks 16 bytes up in 16 bytes of a register. It does not wait
 * for a load whose address depends on the step before. The memory:
 *
 *     steps      2 × 256 × 16 bytes: those of each code, then those of each byte
 *     sets       3 × 32 bytes: the codes, or bytes, that complete a match alone, those that complete one
 *                after leading codes, and the leading codes. By the low 4 bits of a code: a bit for each
 *                value of its high 4 bits below 8, and 16 bytes later for those from 8 on
 *     yes, open  16 bytes each: by state all ones, or 0
 *     yesBits    a bit for each text
 *     openBits   a bit for each text
 *     ends       a byte for each text: the state in which it ends
 *     fault      u32: not 0 if positions descend
 *     hits       a bit for each byte from the positions on: 1 if its text may match
 *     positions  u32 for each text, and one for the end
 *     texts      codes or bytes; they follow the positions directly if both come from a chunk of a page
 */

import { ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { type Kernel, KernelUse, kernel } from "../../bytes/wasm/kernel.js";
import type { KernelCode } from "../../bytes/wasm/kernelCode.js";
import { Integer, Vector } from "../../bytes/wasm/values.js";
import { FAULT, STATES, type TextAutomaton } from "./textAutomaton.js";

const PIECE_TEXTS = 4096;
/** Maximum number of bytes of their values. */
const PIECE_BYTES = 48 * 1024;

const STEPS = 0;
const STEP_BYTES = 2 * 256 * STATES;
const ALONE = 0;
const BEHIND = 1;
const LEADING = 2;
const SETS = STEPS + STEP_BYTES;
const SET_BYTES = 32;
const YES = SETS + 3 * SET_BYTES;
const OPEN = YES + STATES;
const YES_BITS = OPEN + STATES;
const OPEN_BITS = YES_BITS + PIECE_TEXTS / 8;
const ENDS = OPEN_BITS + PIECE_TEXTS / 8;
const FAULTS = ENDS + PIECE_TEXTS;
const HITS = FAULTS + 8;
const POSITION_BYTES = 4 * (PIECE_TEXTS + 4);
const CHUNK_BYTES = POSITION_BYTES + PIECE_BYTES;
/** A multiple of 32, the number of bits in a word of hits. */
const POSITIONS = (HITS + CHUNK_BYTES / 8 + 16 + 31) & ~31;
const TEXTS = POSITIONS + POSITION_BYTES;
const PAGES = Math.ceil((POSITIONS + CHUNK_BYTES + 16) / 65536);

/** Index of the steps of byte 0. */
export const OF_BYTES = 256;

/** Parameters and locals. `shift` added to a position is an address. */
const declareLocals = (wasm: KernelCode) => {
  const [count, shift, base, escaping, final, from, to] = wasm.parameters();
  const [text, address, end, code, out, word, hits, before] = wasm.integers();
  const [state, low, high] = wasm.vectors();
  const bounds = { count, shift, base, escaping, final, from, to };
  return { wasm, ...bounds, text, address, end, code, out, word, hits, before, state, low, high };
};
type Locals = ReturnType<typeof declareLocals>;

/** Marks hits from `from`, a multiple of 16, up to `to` and walks their texts; all texts if `to` is 0. */
const textKernel = (): Kernel | null =>
  kernel(PAGES, (wasm) => {
    const locals = declareLocals(wasm);
    const { text, count, to } = locals;
    checkPositions(locals);
    wasm.when(
      to,
      () => {
        markHits(locals);
        clearEnds(locals);
        walkTextsWithHits(locals);
      },
      () =>
        wasm.doWhile(() => {
          walkText(locals);
          text.increase(1);
        }, text.below(count)),
    );
    answer(locals);
  });

/** Address of the current text, or of a later one. */
const addressOf = ({ text, shift }: Locals, later = 0): Integer =>
  text
    .shiftLeft(2)
    .load(POSITIONS + 4 * later)
    .plus(shift);

/** Walks through a text and stores the state in which it ends. */
function walkText(locals: Locals): void {
  const { wasm, text, address, end, code, state, base, escaping, final } = locals;
  const takeByte = (): void => {
    code.set(address.load8());
    address.increase(1);
  };
  address.set(addressOf(locals));
  end.set(addressOf(locals, 1));
  state.set(Vector.ofByte(0));
  wasm.block((isDone) => {
    isDone.jumpWhen(address.atLeast(end));
    wasm.doWhile(() => {
      takeByte();
      wasm.when(code.equals(escaping), () => {
        wasm.when(address.atLeast(end), () => {
          state.set(Vector.ofByte(FAULT));
          isDone.jump();
        });
        takeByte();
        code.increase(OF_BYTES);
      });
      state.set(code.shiftLeft(4).plus(base).loadVector(STEPS).swizzle(state));
      isDone.jumpWhen(state.byte(0).atLeast(final));
    }, address.below(end));
  });
  wasm.store8(text.plus(ENDS), state.byte(0));
}

function answer({ wasm, text, out, state, count }: Locals): void {
  const bitsOf = (states: number) => Integer.of(states).loadVector().swizzle(state).signsOfBytes();
  text.set(0);
  wasm.doWhile(() => {
    state.set(text.loadVector(ENDS));
    wasm.store16(out.plus(YES_BITS), bitsOf(YES));
    wasm.store16(out.plus(OPEN_BITS), bitsOf(OPEN));
    out.increase(2);
    text.increase(16);
  }, text.below(count));
}

/** Stores 1 and returns if positions descend: such texts may end anywhere. It skips the last 3. */
function checkPositions({ wasm, address, end, low: faults, count }: Locals): void {
  const positions = (offset: number) => address.loadVector(POSITIONS + offset);
  end.set(count.shiftRight(2).shiftLeft(4));
  wasm.block((isDone) => {
    isDone.jumpWhen(end.equals(0));
    wasm.doWhile(() => {
      faults.set(faults.or(positions(4).wordsBelow(positions(0))));
      address.increase(16);
    }, address.below(end));
  });
  wasm.store(FAULTS, faults.differs(Vector.ofByte(0)));
  wasm.returnWhen(Integer.of(FAULTS).load());
}

/** Marks the codes that complete a match alone, or right after a leading code, 16 at a time. */
function markHits({ wasm, address, low, high, code, before, from, to }: Locals): void {
  const bitsOfHigh = (half: number) =>
    Vector.ofBytes(Array.from({ length: 16 }, (_, bit) => (bit >>> 3 === half ? 1 << (bit & 7) : 0)));
  const half = (set: number, index: number) =>
    Integer.of(SETS + SET_BYTES * set + 16 * index)
      .loadVector()
      .swizzle(low)
      .and(bitsOfHigh(index).swizzle(high));
  const inSet = (set: number) =>
    half(set, 0).or(half(set, 1)).bytesThatDiffer(Vector.ofByte(0)).signsOfBytes();
  const out = address.minus(POSITIONS).shiftRight(3).plus(HITS);
  address.set(from);
  wasm.doWhile(() => {
    low.set(address.loadVector());
    high.set(low.shiftRight("i8x16", 4));
    low.set(low.and(Vector.ofByte(0x0f)));
    code.set(inSet(LEADING).shiftLeft(1).or(before));
    before.set(code.shiftRight(16));
    wasm.store16(out, inSet(ALONE).or(inSet(BEHIND).and(code)));
    address.increase(16);
  }, address.below(to));
  // An earlier call may have left hits after these.
  wasm.store(out, 0);
}

function clearEnds({ wasm, address, count }: Locals): void {
  address.set(0);
  wasm.doWhile(() => {
    wasm.store(address, Vector.ofByte(0), ENDS);
    address.increase(16);
  }, address.below(count));
}

/** Texts that the kernel skips at once on the way to a hit. */
const STRIDE = 8;

function walkTextsWithHits(locals: Locals): void {
  const { wasm, text, address, end, word, hits, count, from, to } = locals;
  const wordOf = (position: Integer) => position.minus(POSITIONS).shiftRight(5).shiftLeft(2);
  /** Loads the hits of a word from the given bit on. */
  const loadHits = (firstBit: Integer) => hits.set(word.load(HITS).and(Integer.of(-1).shiftLeft(firstBit)));
  const skip = (texts: number): void =>
    wasm.block((isThere) =>
      wasm.loop((again) => {
        isThere.jumpWhen(count.below(text.plus(texts)));
        isThere.jumpWhen(address.below(addressOf(locals, texts)));
        text.increase(texts);
        again.jump();
      }),
    );
  word.set(wordOf(from));
  // The bytes of this word before `from` have no hits.
  loadHits(from.and(16));
  wasm.block((isDone) =>
    wasm.loop((next) => {
      wasm.when(hits.equals(0), () => {
        word.increase(4);
        isDone.jumpWhen(word.atLeast(wordOf(to).plus(4)));
        hits.set(word.load(HITS));
        next.jump();
      });
      address.set(word.shiftLeft(3).plus(hits.trailingZeros()).plus(POSITIONS));
      isDone.jumpWhen(address.atLeast(to));
      skip(STRIDE);
      skip(1);
      isDone.jumpWhen(text.atLeast(count));
      walkText(locals);
      // One walk answers all hits of the text.
      word.set(wordOf(end));
      loadHits(end.and(31));
      text.increase(1);
      next.jumpWhen(text.below(count));
    }),
  );
}

/** An automaton in the form of the kernel. */
export interface KernelSteps {
  /** Steps of each code, and from index {@link OF_BYTES} on those of each byte. */
  readonly steps: Uint8Array;
  readonly automaton: TextAutomaton;
  readonly isCoded: boolean;
  /** The codes, or bytes, without which no text matches; null if texts without any can match. */
  readonly completing: CompletingCodes | null;
}

/** Codes, or bytes, that lead to an accepting or open state. */
export interface CompletingCodes {
  /** From the first state. */
  readonly alone: readonly number[];
  /** From another state, which only the leading codes right before them reach. */
  readonly behind: readonly number[];
  readonly leading: readonly number[];
}

/** A bit for each text, from bit 0 on. */
export interface TextAnswers {
  /** 1 if the automaton accepts the text. */
  readonly yes: Uint8Array;
  /** 1 if the automaton cannot decide. */
  readonly open: Uint8Array;
}

class TextKernel {
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #positions: Uint32Array;
  readonly #faults: Uint32Array;
  #marksHits = false;
  #isCoded = false;
  #firstFinal = 0;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#positions = new Uint32Array(memory, POSITIONS, PIECE_TEXTS + 1);
    this.#faults = new Uint32Array(memory, FAULTS, 1);
  }

  /** Sets the automaton that the next calls run. */
  setSteps({ steps, automaton, isCoded, completing }: KernelSteps): void {
    const { accepts, isOpen, firstFinal } = automaton;
    this.#isCoded = isCoded;
    this.#firstFinal = firstFinal;
    this.#bytes.set(steps, STEPS);
    this.#marksHits = completing !== null;
    this.#bytes.fill(0, SETS, SETS + 3 * SET_BYTES);
    const { alone = [], behind = [], leading = [] } = completing ?? {};
    for (const [set, codes] of [alone, behind, leading].entries()) {
      const start = SETS + SET_BYTES * set;
      for (const code of codes)
        this.#bytes[start + (code < 128 ? 0 : 16) + (code & 15)] |= 1 << ((code >>> 4) & 7);
    }
    for (let state = 0; state < STATES; state++) {
      this.#bytes[YES + state] = accepts[state] === true ? 0xff : 0;
      this.#bytes[OPEN + state] = isOpen[state] === true || state === FAULT ? 0xff : 0;
    }
  }

  /**
   * Answers texts from index `first`, a multiple of 8, on.
   * @param offsets ascending
   * @returns number of texts answered: a multiple of 8 or all; 0 if the next 8 are too long
   */
  run(texts: Uint8Array, offsets: Int32Array, first: number, last: number, answers: TextAnswers): number {
    const start = offsets[first];
    let end = Math.min(last, first + PIECE_TEXTS);
    while (offsets[end] - start > PIECE_BYTES) {
      const half = (end - first) >>> 1;
      end = first + (half & ~7);
      if (half < 8) return 0;
    }
    const count = end - first;
    const byteLength = offsets[end] - start;
    this.#bytes.set(texts.subarray(start, offsets[end]), TEXTS);
    this.#positions.set(offsets.subarray(first, end + 1));
    this.#ask(count, TEXTS - start, TEXTS, TEXTS + byteLength);
    this.#answer(count, first, answers);
    return count;
  }

  fits(chunk: Uint8Array, count: number): boolean {
    return count <= PIECE_TEXTS && chunk.length <= CHUNK_BYTES;
  }

  /**
   * Answers the texts of a chunk that fits.
   * @param first index of its first text among all, a multiple of 8
   * @returns false if positions of the chunk descend or lie outside it
   */
  runChunk(chunk: Uint8Array, count: number, first: number, answers: TextAnswers): boolean {
    this.#bytes.set(chunk, POSITIONS);
    const positions = this.#positions;
    const textsStart = 4 * (count + 1);
    if (positions[0] < textsStart || positions[count] > chunk.length) return false;
    for (let text = count & ~3; text < count; text++) if (positions[text + 1] < positions[text]) return false;
    this.#ask(count, POSITIONS, POSITIONS + (textsStart & ~15), POSITIONS + chunk.length);
    if (this.#faults[0] !== 0) return false;
    this.#answer(count, first, answers);
    return true;
  }

  #ask(count: number, shift: number, from: number, to: number): void {
    const base = this.#isCoded ? 0 : STATES * OF_BYTES;
    const escaping = this.#isCoded ? ESCAPE_CODE : -1;
    this.#run(count, shift, base, escaping, this.#firstFinal, from, this.#marksHits ? to : 0);
  }

  #answer(count: number, first: number, { yes, open }: TextAnswers): void {
    const bytes = (count + 7) >>> 3;
    yes.set(this.#bytes.subarray(YES_BITS, YES_BITS + bytes), first >>> 3);
    open.set(this.#bytes.subarray(OPEN_BITS, OPEN_BITS + bytes), first >>> 3);
  }
}

export const textKernelUse = KernelUse.of(textKernel, (compiled) => new TextKernel(compiled));
