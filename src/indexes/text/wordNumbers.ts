/**
 * Numbers the words of texts by their bytes: known words need no string, stemmer or map. A kernel does it if
 * the runtime has one; the JavaScript form leaves non-ASCII texts to the analyzer.
 */

import type { Kernel } from "../../bytes/wasm/kernel.js";
import { type Analyzer, isOneWord } from "./analyzer.js";
import { PlainWordNumbers, type UseNumber, type WordNumbers } from "./plainWordNumbers.js";
import {
  ASK,
  FIRST_NUMBER,
  FIRST_SLOT,
  MAX_WORD_BYTES,
  NO_TOKEN,
  NUMBERS,
  POSITIONS,
  REST,
  REST_BYTES,
  STATE,
  TEXT,
  TEXT_BYTES,
  WORD_SLOT_BYTES,
  WORD_SLOTS,
  wordKernel,
} from "./wordKernel.js";

/** Maximum number of remembered words; beyond it, all are forgotten. */
const MAX_WORDS = WORD_SLOTS / 2;

/**
 * Returns a word numberer. @param numberOf returns the number of a token, constant until
 * {@link WordNumbers.forget}
 */
export function wordNumbers(
  analyzer: Analyzer,
  numberOf: (token: string) => number,
  kernel = wordKernel(),
): WordNumbers {
  return kernel === null
    ? new PlainWordNumbers(analyzer, numberOf)
    : new KernelWordNumbers(kernel, analyzer, numberOf);
}

class KernelWordNumbers implements WordNumbers {
  readonly #run: Kernel["run"];
  readonly #analyzer: Analyzer;
  readonly #numberOf: (token: string) => number;
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

  constructor({ run, memory }: Kernel, analyzer: Analyzer, numberOf: (token: string) => number) {
    this.#run = run;
    this.#analyzer = analyzer;
    this.#numberOf = numberOf;
    this.#memory = new Uint8Array(memory);
    this.#words = new Uint32Array(memory);
    this.#state = new Uint32Array(memory, 0, 16);
    crypto.getRandomValues(new Uint32Array(memory, 4 * STATE.seed, 1));
  }

  beginTexts(): void {
    this.#held = null;
  }

  forget(): void {
    this.#memory.fill(0, FIRST_SLOT, FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES);
    this.#count = 0;
    this.#restEnd = REST;
  }

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
      this.#analyzer.words(text, (word, offset) => {
        const token = this.#analyzer.tokenOf(word);
        if (token !== null) use(this.#numberOf(token), position + offset);
        next = position + offset + 1;
      });
      return next;
    }
    const token = this.#analyzer.tokenOf(text);
    const number = token === null ? -1 : this.#numberOf(token);
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
