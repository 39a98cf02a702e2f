/**
 * Runs automata over texts (textAutomaton.ts) as a WebAssembly kernel: the loop of `askPlainly` in textQuestion.ts. A step
 * of the automaton is one look-up of 16 bytes by 16 bytes, and does not wait for a load, whose address would depend on
 * the step before. Its memory:
 *
 *     steps      2 × 256 × 16 bytes: of each code, and of each byte
 *     sets       3 × 32 bytes: which codes, or bytes, complete what is asked for by themselves, which do so behind
 *                others, and which are such others. By their low 4 bits: a bit for each of the high 4 bits below 8, and
 *                from 8 on
 *     yes, open  16 bytes each: by state all ones, or 0
 *     yesBits    a bit for each text
 *     openBits   the same
 *     states     a byte for each text: the state in which it ends
 *     fault      u32: not 0 where positions do not ascend
 *     hits       a bit for each byte from the positions on: whether a text may be what is asked for by it
 *     positions  u32 for each text, and one for the end
 *     texts      codes or bytes; right behind the positions where both come from a chunk of a page
 */

import { ESCAPE_CODE } from "../../arrow/columns/codedValues.js";
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
  or,
  set,
  shiftLeft,
  shiftRight,
  signsOfBytes,
  store,
  store8,
  store16,
  subtract,
  swizzle,
  trailingZeros,
  vectorAnd,
  vectorConstant,
  vectorLoad,
  vectorOfWords,
  vectorOr,
  vectorShiftRight,
  vectorStore,
  vectorsDiffer,
  when,
  wordsBelow,
} from "../../bytes/wasm.js";
import { FAULT, STATES, type TextAutomaton } from "./textAutomaton.js";

/** Texts that are looked at in one call. */
const PIECE_TEXTS = 4096;
/** Bytes of these. */
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
/** Bytes of a chunk, at most. */
const CHUNK_BYTES = POSITION_BYTES + PIECE_BYTES;
/** A multiple of 32, as a word of hits has so many bits. */
const POSITIONS = (HITS + CHUNK_BYTES / 8 + 16 + 31) & ~31;
const TEXTS = POSITIONS + POSITION_BYTES;
const PAGES = Math.ceil((POSITIONS + CHUNK_BYTES + 16) / 65536);

/** Number of the steps of byte 0. */
export const OF_BYTES = 256;

/**
 * `shift` added to a position is an address. Hits are marked in the bytes from `from`, a multiple of 16, up to `to`, and only
 * texts with hits are looked at; all are where `to` is 0. All positions are checked but the last 3.
 */
const textKernel = (): Kernel | null =>
  kernel({
    parameters: ["count", "shift", "base", "escaping", "final", "from", "to"],
    locals: ["text", "at", "end", "code", "out", "word", "hits", "before"],
    vectors: ["state", "low", "high"],
    pages: PAGES,
    body: (local) => {
      const [text, count] = [local("text"), local("count")];
      return [
        checkPositions(local),
        when(
          get(local("to")),
          [markHits(local), clearEnds(local), lookAtHits(local)],
          loop(
            walkText(local),
            set(text, add(get(text), constant(1))),
            leaveWhen(0, below(get(text), get(count))),
          ),
        ),
        answer(local),
      ];
    },
  });

/** The address where a text begins, or, of a later one, another text. */
const addressOf = (local: (name: string) => number, later = 0): Code =>
  add(load(shiftLeft(get(local("text")), constant(2)), POSITIONS + 4 * later), get(local("shift")));

/** Walks through a text and stores the state in which it ends. */
function walkText(local: (name: string) => number): Code {
  const [text, index, end, code] = ["text", "at", "end", "code"].map(local);
  const state = local("state");
  const takeByte = [set(code, load8(get(index))), set(index, add(get(index), constant(1)))];
  const steps = add(shiftLeft(get(code), constant(4)), get(local("base")));
  return [
    set(index, addressOf(local)),
    set(end, addressOf(local, 1)),
    set(state, vectorConstant(new Array(16).fill(0))),
    block(
      leaveWhen(0, atLeast(get(index), get(end))),
      loop(
        takeByte,
        when(equal(get(code), get(local("escaping"))), [
          when(atLeast(get(index), get(end)), [
            set(state, vectorConstant(new Array(16).fill(FAULT))),
            leave(3),
          ]),
          takeByte,
          set(code, add(get(code), constant(OF_BYTES))),
        ]),
        set(state, swizzle(vectorLoad(steps, STEPS), get(state))),
        leaveWhen(1, atLeast(laneOfBytes(get(state), 0), get(local("final")))),
        leaveWhen(0, below(get(index), get(end))),
      ),
    ),
    store8(add(get(text), constant(ENDS)), laneOfBytes(get(state), 0)),
  ];
}

/** Makes bits of the states in which texts end. */
function answer(local: (name: string) => number): Code {
  const [text, out, state] = ["text", "out", "state"].map(local);
  const bitsOf = (states: number): Code => signsOfBytes(swizzle(vectorLoad(constant(states)), get(state)));
  return [
    set(text, constant(0)),
    loop(
      set(state, vectorLoad(get(text), ENDS)),
      store16(add(get(out), constant(YES_BITS)), bitsOf(YES)),
      store16(add(get(out), constant(OPEN_BITS)), bitsOf(OPEN)),
      set(out, add(get(out), constant(2))),
      set(text, add(get(text), constant(16))),
      leaveWhen(0, below(get(text), get(local("count")))),
    ),
  ];
}

/** Notes whether positions descend, all but the last 3, and ends the call then: texts that end anywhere are not read. */
function checkPositions(local: (name: string) => number): Code {
  const [index, end, faults] = ["at", "end", "low"].map(local);
  const positions = (offset: number): Code => vectorLoad(get(index), POSITIONS + offset);
  return [
    set(end, shiftLeft(shiftRight(get(local("count")), constant(2)), constant(4))),
    block(
      leaveWhen(0, equal(get(end), constant(0))),
      loop(
        set(faults, vectorOr(get(faults), wordsBelow(positions(4), positions(0)))),
        set(index, add(get(index), constant(16))),
        leaveWhen(0, below(get(index), get(end))),
      ),
    ),
    store(constant(FAULTS), vectorsDiffer(get(faults), vectorOfWords(0))),
    leaveWhen(0, load(constant(FAULTS))),
  ];
}

/** Marks the codes that complete by themselves, or right behind one that leads there; 16 at a time. */
function markHits(local: (name: string) => number): Code {
  const [index, low, high, code, before] = ["at", "low", "high", "code", "before"].map(local);
  const bitsOfHigh = (first: number): Code =>
    vectorConstant(
      Array.from({ length: 16 }, (_, position) => (position >>> 3 === first ? 1 << (position & 7) : 0)),
    );
  const half = (set: number, part: number): Code =>
    vectorAnd(
      swizzle(vectorLoad(constant(SETS + SET_BYTES * set + 16 * part)), get(low)),
      swizzle(bitsOfHigh(part), get(high)),
    );
  const inSet = (set: number): Code =>
    signsOfBytes(bytesThatDiffer(vectorOr(half(set, 0), half(set, 1)), vectorOfWords(0)));
  const out = add(shiftRight(subtract(get(index), constant(POSITIONS)), constant(3)), constant(HITS));
  return [
    set(index, get(local("from"))),
    loop(
      set(low, vectorLoad(get(index))),
      set(high, vectorShiftRight("i8x16", get(low), constant(4))),
      set(low, vectorAnd(get(low), vectorOfWords(0x0f0f0f0f))),
      set(code, or(shiftLeft(inSet(LEADING), constant(1)), get(before))),
      set(before, shiftRight(get(code), constant(16))),
      store16(out, or(inSet(ALONE), and(inSet(BEHIND), get(code)))),
      set(index, add(get(index), constant(16))),
      leaveWhen(0, below(get(index), get(local("to")))),
    ),
    // What is behind them was marked before.
    store(out, constant(0)),
  ];
}

/** Lets all texts end in the first state. */
function clearEnds(local: (name: string) => number): Code {
  const index = local("at");
  return [
    set(index, constant(0)),
    loop(
      vectorStore(get(index), vectorOfWords(0), ENDS),
      set(index, add(get(index), constant(16))),
      leaveWhen(0, below(get(index), get(local("count")))),
    ),
  ];
}

/** Texts that are passed over at once on the way to a hit. */
const STRIDE = 8;

/** Walks through the texts that have hits. */
function lookAtHits(local: (name: string) => number): Code {
  const [text, index, end, word, hits, count, to] = ["text", "at", "end", "word", "hits", "count", "to"].map(
    local,
  );
  const wordAt = (address: Code): Code =>
    shiftLeft(shiftRight(subtract(address, constant(POSITIONS)), constant(5)), constant(2));
  const passOver = (texts: number): Code =>
    block(
      loop(
        leaveWhen(1, below(get(count), add(get(text), constant(texts)))),
        leaveWhen(1, below(get(index), addressOf(local, texts))),
        set(text, add(get(text), constant(texts))),
        leave(0),
      ),
    );
  return [
    set(word, wordAt(get(local("from")))),
    // The word may begin before what was marked.
    set(hits, and(load(get(word), HITS), shiftLeft(constant(-1), and(get(local("from")), constant(16))))),
    block(
      loop(
        when(equal(get(hits), constant(0)), [
          set(word, add(get(word), constant(4))),
          leaveWhen(2, atLeast(get(word), add(wordAt(get(to)), constant(4)))),
          set(hits, load(get(word), HITS)),
          leave(1),
        ]),
        set(
          index,
          add(add(shiftLeft(get(word), constant(3)), trailingZeros(get(hits))), constant(POSITIONS)),
        ),
        leaveWhen(1, atLeast(get(index), get(to))),
        passOver(STRIDE),
        passOver(1),
        leaveWhen(1, atLeast(get(text), get(count))),
        walkText(local),
        // Hits that are left over in the text say no more.
        set(word, wordAt(get(end))),
        set(hits, and(load(get(word), HITS), shiftLeft(constant(-1), and(get(end), constant(31))))),
        set(text, add(get(text), constant(1))),
        leaveWhen(0, below(get(text), get(count))),
      ),
    ),
  ];
}

/** An automaton as the kernel runs it. */
export interface KernelSteps {
  /** Of each code, and of each byte from number {@link OF_BYTES} on. */
  readonly steps: Uint8Array;
  readonly automaton: TextAutomaton;
  readonly isCoded: boolean;
  /** Where only texts with some codes, or bytes, can be what is asked for: which. Null where they may be without. */
  readonly completing: CompletingCodes | null;
}

/** Codes, or bytes, that lead to a state that is of interest. */
export interface CompletingCodes {
  /** From the first state. */
  readonly alone: readonly number[];
  /** From another one, to which only those lead that stand right before them. */
  readonly behind: readonly number[];
  readonly leading: readonly number[];
}

/** A bit for each text, from bit 0 on. */
export interface TextAnswers {
  /** Of texts at whose ends the automaton accepts. */
  readonly yes: Uint8Array;
  /** Of those for which it can't tell. */
  readonly open: Uint8Array;
}

/** The kernel with the views of its memory. */
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
   * Looks at texts from number `first`, a multiple of 8, on.
   * @param offsets ascending
   * @returns how many were looked at: a multiple of 8 or all; 0 where the next ones are too long
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

  /** Whether the kernel has room for a chunk. */
  fits(chunk: Uint8Array, count: number): boolean {
    return count <= PIECE_TEXTS && chunk.length <= CHUNK_BYTES;
  }

  /**
   * Looks at the texts of a chunk that fits.
   * @param first number of the first of them among all, a multiple of 8
   * @returns false where the chunk's positions do not ascend inside it
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

export const textKernelUse = new KernelUse(() => {
  const made = textKernel();
  return made === null ? null : new TextKernel(made);
});
