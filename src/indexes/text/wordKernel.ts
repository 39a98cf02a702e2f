/**
 * Finds the words of texts and their numbers in a table of earlier words, as a WebAssembly kernel. A word is
 * a run of ASCII letters and digits and of bytes outside ASCII: the tokens of such a run depend on nothing
 * else. The memory:
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

/** Words of the state. The seed of the hashes is random, so that nobody can choose words that collide. */
export const STATE = { isDone: 0, from: 1, next: 2, out: 3, position: 4, slot: 5, seed: 6 } as const;

export const TEXT_BYTES = 256 * 1024;
/** Words of a text are at least two bytes apart. */
const MAX_TOKENS = TEXT_BYTES / 2 + 1;
const NUMBER_BYTES = 4 * MAX_TOKENS + 12;
export const REST_BYTES = 4 * 2 ** 20;
export const WORD_SLOTS = 2 ** 19;
export const WORD_SLOT_BYTES = 32;

const MASKS = 64;
export const TEXT = 1024;
/** The kernel loads a whole vector at the last byte. */
export const NUMBERS = TEXT + TEXT_BYTES + 64;
export const POSITIONS = NUMBERS + NUMBER_BYTES;
export const REST = POSITIONS + NUMBER_BYTES;
export const FIRST_SLOT = REST + REST_BYTES;
const PAGES = Math.ceil((FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES) / 65_536);

/** The table has no longer words. */
export const MAX_WORD_BYTES = 255;
const FREE = 0;
export const NO_TOKEN = 1;
export const ASK = 2;
export const FIRST_NUMBER = 3;

export const wordKernelSwitch: KernelSwitch = { isOn: true };

/**
 * A kernel with a memory of its own: `run(next, end, out, position)`. It reads the text from `next` to before
 * `end`. It writes numbers and positions from `out` on, and stops at a word that is not in the table.
 */
export function wordKernel(): Kernel | null {
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
