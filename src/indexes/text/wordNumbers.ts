/**
 * Numbers the words of texts by their bytes: known words need no string, stemmer or map. A WebAssembly kernel
 * finds the words in a table of earlier words. Without kernels, the analyzer cuts all texts. A word is a run
 * of ASCII letters and digits, and of bytes outside ASCII: its tokens depend on nothing else. The memory of
 * the kernel:
 *
 *     state      where a call stopped, see {@link STATE}
 *     masks      for each length up to 16, the bytes of a vector that belong to a word of that length
 *     text       of some rows
 *     numbers    of tokens, in the order of the text
 *     positions  of the same tokens
 *     rest       the bytes of words from the 17th on, zero-padded to multiples of 16
 *     slots      a hash table with slots of 32 bytes: the first 16 bytes of the word, zero-padded; u32 its
 *                meaning (0: the slot is free; 1: no token; 2: the caller must decide; else the number of its
 *                token + 3); u32 byte length of the word; u32 address of the rest
 */

import { type Kernel, type KernelSwitch, kernel } from "../../bytes/wasm/kernel.js";
import { Integer, Vector } from "../../bytes/wasm/values.js";
import { type Analyzer, isOneWord } from "./analyzer.js";

/** Words of the state. The seed of the hashes is random, so that nobody can choose words that collide. */
const STATE = { isDone: 0, from: 1, next: 2, out: 3, position: 4, slot: 5, seed: 6 } as const;

const TEXT_BYTES = 256 * 1024;
/** Words of a text are at least two bytes apart. */
const MAX_TOKENS = TEXT_BYTES / 2 + 1;
const NUMBER_BYTES = 4 * MAX_TOKENS + 12;
const REST_BYTES = 4 * 2 ** 20;
const WORD_SLOTS = 2 ** 19;
const WORD_SLOT_BYTES = 32;

const MASKS = 64;
const TEXT = 1024;
/** The kernel loads a whole vector at the last byte. */
const NUMBERS = TEXT + TEXT_BYTES + 64;
const POSITIONS = NUMBERS + NUMBER_BYTES;
const REST = POSITIONS + NUMBER_BYTES;
const FIRST_SLOT = REST + REST_BYTES;
const PAGES = Math.ceil((FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES) / 65_536);

/** Maximum number of bytes of a word in the table. */
const MAX_WORD_BYTES = 255;
const FREE = 0;
const NO_TOKEN = 1;
const ASK = 2;
const FIRST_NUMBER = 3;

export const wordKernelSwitch: KernelSwitch = { isOn: true };

/**
 * A kernel with a memory of its own: `run(next, end, out, position)`. It reads the text from `next` to before
 * `end`. It writes numbers and positions from `out` on, and stops at a word that is not in the table.
 */
function wordKernel(): Kernel | null {
  if (!wordKernelSwitch.isOn) return null;
  const compiled = kernel(PAGES, (wasm) => {
    const [next, end, out, position] = wasm.parameters();
    const [bits, from, length, hash, slot, number, rest, piece, left] = wasm.integers();
    const [bytes, key, lower] = wasm.vectors();
    /** Sets a bit for each of 16 bytes that is part of a word. */
    const findWordBytes = (): void => {
      bytes.set(next.loadVector());
      lower.set(bytes.or(Vector.ofByte(0x20)));
      const isLetter = lower.minusBytes(Vector.ofByte(0x61)).bytesBelow(Vector.ofByte(26));
      const isDigit = bytes.minusBytes(Vector.ofByte(0x30)).bytesBelow(Vector.ofByte(10));
      bits.set(bytes.or(isLetter.or(isDigit)).signsOfBytes());
    };
    const skipToFirstBit = (): void => next.increase(bits.trailingZeros());
    const saveState = (isDone: number): void => {
      wasm.store(4 * STATE.isDone, isDone);
      wasm.store(4 * STATE.from, from);
      wasm.store(4 * STATE.next, next);
      wasm.store(4 * STATE.out, out);
      wasm.store(4 * STATE.position, position);
      wasm.store(4 * STATE.slot, slot);
    };
    const limitTo16 = (): void => wasm.when(left.atLeast(17), () => left.set(16));
    const paddedPiece = (address: Integer): Vector =>
      address.loadVector().and(left.shiftLeft(4).loadVector(MASKS));
    const hashKey = (): void => {
      for (let lane = 0; lane < 4; lane++)
        hash.set(
          hash
            .xor(key.word(lane))
            .times(0x9e3779b1 | 0)
            .rotateLeft(15),
        );
    };
    wasm.block((isAtEnd) =>
      wasm.loop((nextWord) => {
        wasm.block((isInWord) =>
          wasm.loop((again) => {
            isAtEnd.jumpWhen(next.atLeast(end));
            findWordBytes();
            isInWord.jumpWhen(bits);
            next.increase(16);
            again.jump();
          }),
        );
        skipToFirstBit();
        isAtEnd.jumpWhen(next.atLeast(end));
        from.set(next);
        wasm.block((isAfterWord) => {
          wasm.doWhile(() => {
            findWordBytes();
            bits.set(bits.xor(0xffff));
            isAfterWord.jumpWhen(bits);
            next.increase(16);
          }, next.below(end));
          bits.set(1);
        });
        skipToFirstBit();
        wasm.when(end.below(next), () => next.set(end));
        length.set(next.minus(from));
        // The hash is of the whole word, the key its first piece.
        hash.set(length.xor(Integer.of(4 * STATE.seed).load()));
        slot.set(0);
        wasm.block((isUnknown) => {
          isUnknown.jumpWhen(Integer.of(MAX_WORD_BYTES).below(length));
          piece.set(from);
          wasm.doWhile(() => {
            left.set(next.minus(piece));
            limitTo16();
            key.set(paddedPiece(piece));
            hashKey();
            piece.increase(16);
          }, piece.below(next));
          hash.set(hash.xor(hash.shiftRight(15)));
          left.set(length);
          limitTo16();
          key.set(paddedPiece(from));
          slot.set(Integer.of(FIRST_SLOT).plus(hash.and(WORD_SLOTS - 1).times(WORD_SLOT_BYTES)));
          wasm.loop((nextSlot) => {
            number.set(slot.load(16));
            isUnknown.jumpWhen(number.equals(FREE));
            wasm.block((isDifferent) => {
              isDifferent.jumpWhen(key.differs(slot.loadVector()));
              isDifferent.jumpWhen(length.xor(slot.load(20)));
              rest.set(slot.load(24));
              piece.set(from.plus(16));
              wasm.block((isEqual) =>
                wasm.loop((again) => {
                  isEqual.jumpWhen(piece.atLeast(next));
                  left.set(next.minus(piece));
                  limitTo16();
                  isDifferent.jumpWhen(paddedPiece(piece).differs(rest.loadVector()));
                  piece.increase(16);
                  rest.increase(16);
                  again.jump();
                }),
              );
              isUnknown.jumpWhen(number.equals(ASK));
              wasm.when(number.atLeast(FIRST_NUMBER), () => {
                wasm.store(out, number.minus(FIRST_NUMBER));
                wasm.store(out, position, POSITIONS - NUMBERS);
                out.increase(4);
              });
              position.increase(1);
              nextWord.jump();
            });
            slot.increase(WORD_SLOT_BYTES);
            const slotsEnd = FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES;
            wasm.when(slot.atLeast(slotsEnd), () => slot.set(FIRST_SLOT));
            nextSlot.jump();
          });
        });
        saveState(0);
        wasm.return();
      }),
    );
    saveState(1);
  });
  if (compiled === null) return null;
  const masks = new Uint8Array(compiled.memory, MASKS, 17 * 16);
  for (let length = 0; length <= 16; length++) masks.fill(0xff, 16 * length, 17 * length);
  return compiled;
}

/** Maximum number of remembered words; beyond it, all are forgotten. */
const MAX_WORDS = WORD_SLOTS / 2;

/** Receives the number of a token and its position. */
type UseNumber = (number: number, position: number) => void;

export class WordNumbers {
  readonly #run: Kernel["run"];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #state: Uint32Array;
  readonly #memory: Uint8Array;
  readonly #words: Uint32Array;
  /** Text in kernel memory, and its range. */
  #held: Uint8Array | null = null;
  #heldFrom = 0;
  #heldTo = 0;
  #count = 0;
  #restEnd = REST;

  private constructor(
    { run, memory }: Kernel,
    private readonly analyzer: Analyzer,
    private readonly numberOf: (token: string) => number,
  ) {
    this.#run = run;
    this.#memory = new Uint8Array(memory);
    this.#words = new Uint32Array(memory);
    this.#state = new Uint32Array(memory, 0, 16);
    crypto.getRandomValues(new Uint32Array(memory, 4 * STATE.seed, 1));
  }

  /** Null without kernels. @param numberOf returns the number of a token, constant until {@link forget} */
  static of(analyzer: Analyzer, numberOf: (token: string) => number): WordNumbers | null {
    const compiled = wordKernel();
    return compiled && new WordNumbers(compiled, analyzer, numberOf);
  }

  /** Announces that the memory of texts may have changed. */
  beginTexts(): void {
    this.#held = null;
  }

  /** Forgets all numbers: tokens are renumbered. */
  forget(): void {
    this.#memory.fill(0, FIRST_SLOT, FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES);
    this.#count = 0;
    this.#restEnd = REST;
  }

  /** Passes the tokens of a text to `use`, in order. @returns false if the analyzer must do it */
  each(bytes: Uint8Array, start: number, end: number, use: UseNumber): boolean {
    if (end - start > TEXT_BYTES) return false;
    if (bytes !== this.#held || start < this.#heldFrom || end > this.#heldTo) this.#hold(bytes, start);
    const shift = TEXT - this.#heldFrom;
    const state = this.#state;
    const words = this.#words;
    let offset = start + shift;
    let position = 0;
    for (;;) {
      this.#run(offset, end + shift, NUMBERS, position);
      const out = state[STATE.out] / 4;
      for (let from = NUMBERS / 4, slot = POSITIONS / 4; from < out; from++, slot++) {
        use(words[from], words[slot]);
      }
      if (state[STATE.isDone] === 1) return true;
      offset = state[STATE.next];
      position = this.#ask(state[STATE.from], offset, state[STATE.position], state[STATE.slot], use);
    }
  }

  /** Loads as many following texts as fit. */
  #hold(bytes: Uint8Array, start: number): void {
    const to = Math.min(bytes.length, start + TEXT_BYTES);
    this.#memory.set(bytes.subarray(start, to), TEXT);
    this.#held = bytes;
    this.#heldFrom = start;
    this.#heldTo = to;
  }

  /** Passes the tokens of a word that the kernel does not know. @returns the next position */
  #ask(from: number, to: number, position: number, slot: number, use: UseNumber): number {
    const text = this.#decoder.decode(this.#memory.subarray(from, to));
    if (!isOneWord(text)) {
      // Only the analyzer can cut it, every time.
      this.#learn(from, to, slot, ASK);
      let next = position;
      this.analyzer.words(text, (word, offset) => {
        const token = this.analyzer.tokenOf(word);
        if (token !== null) use(this.numberOf(token), position + offset);
        next = position + offset + 1;
      });
      return next;
    }
    const token = this.analyzer.tokenOf(text);
    const number = token === null ? -1 : this.numberOf(token);
    this.#learn(from, to, slot, token === null ? NO_TOKEN : FIRST_NUMBER + number);
    if (token !== null) use(number, position);
    return position + 1;
  }

  /** @param slot free slot */
  #learn(from: number, to: number, slot: number, meaning: number): void {
    const length = to - from;
    if (length > MAX_WORD_BYTES || this.#words[slot / 4 + 4] !== 0) return;
    const restBytes = Math.max(0, (length - 1) & -16);
    if (this.#count === MAX_WORDS || this.#restEnd + restBytes > REST + REST_BYTES) {
      this.forget();
      return;
    }
    this.#count++;
    const memory = this.#memory;
    memory.copyWithin(slot, from, Math.min(to, from + 16));
    if (restBytes > 0) {
      memory.fill(0, this.#restEnd, this.#restEnd + restBytes);
      memory.copyWithin(this.#restEnd, from + 16, to);
    }
    this.#words[slot / 4 + 4] = meaning;
    this.#words[slot / 4 + 5] = length;
    this.#words[slot / 4 + 6] = this.#restEnd;
    this.#restEnd += restBytes;
  }
}
