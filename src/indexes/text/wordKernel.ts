/**
 * Finds words in texts, and their numbers in a table of those that were seen before, as a WebAssembly kernel. A word is a
 * run of letters and digits of ASCII and of bytes outside ASCII: what such a run is cut into depends on itself only. The
 * memory of the kernel:
 *
 *     state      where a call stopped, see {@link STATE}
 *     masks      for each length up to 16, the bytes of a vector that belong to a word of that length
 *     text       of some rows
 *     numbers    of tokens, as they were found
 *     positions  of the same tokens
 *     rest       the bytes of words from the 17th on, filled up with 0 to multiples of 16
 *     slots      a hash table; of each slot 32 bytes: the first 16 bytes of the word, filled up with 0; u32 what it stands
 *                for (0: the slot is free; 1: no token; 2: it has to be asked; else the number of its token + 3);
 *                u32 bytes of the word; u32 where the rest lies
 */

import {
  add,
  and,
  atLeast,
  below,
  block,
  bytesBelow,
  constant,
  equal,
  get,
  type Kernel,
  kernel,
  laneOfWords,
  leave,
  leaveWhen,
  load,
  loop,
  multiply,
  rotateLeft,
  set,
  shiftLeft,
  shiftRight,
  signsOfBytes,
  store,
  subtract,
  subtractBytes,
  trailingZeros,
  vectorAnd,
  vectorConstant,
  vectorLoad,
  vectorOr,
  vectorsDiffer,
  when,
  xor,
} from "../../bytes/wasm.js";

/** Words of the state; hashes begin with the seed, so that nobody can choose words that have the same ones. */
export const STATE = { isDone: 0, from: 1, at: 2, out: 3, position: 4, slot: 5, seed: 6 } as const;

export const TEXT_BYTES = 256 * 1024;
/** Words of a text are at least two bytes apart. */
const MAX_TOKENS = TEXT_BYTES / 2 + 1;
const NUMBER_BYTES = 4 * MAX_TOKENS + 12;
export const REST_BYTES = 4 * 2 ** 20;
export const WORD_SLOTS = 2 ** 19;
export const WORD_SLOT_BYTES = 32;

const MASKS = 64;
export const TEXT = 1024;
/** A vector is loaded from the last byte on. */
export const NUMBERS = TEXT + TEXT_BYTES + 64;
export const POSITIONS = NUMBERS + NUMBER_BYTES;
export const REST = POSITIONS + NUMBER_BYTES;
export const FIRST_SLOT = REST + REST_BYTES;
const PAGES = Math.ceil((FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES) / 65_536);

/** Longer words are not in the table. */
export const MAX_WORD_BYTES = 255;
const FREE = 0;
export const NO_TOKEN = 1;
export const ASK = 2;
export const FIRST_NUMBER = 3;

const allBytes = (byte: number) => vectorConstant(new Array(16).fill(byte));

/**
 * A kernel with a memory of its own: `run(at, end, out, position)` goes through the text from `at` to before `end`, puts
 * numbers and positions at `out`, and stops at a word that it does not know.
 */
export function wordKernel(): Kernel | null {
  const made = kernel({
    parameters: ["at", "end", "out", "position"],
    locals: ["bits", "from", "length", "hash", "slot", "number", "rest", "chunk", "left"],
    vectors: ["bytes", "key", "lower"],
    pages: PAGES,
    body: (local) => {
      const names = ["at", "end", "out", "position", "bits", "from", "length", "hash", "slot", "number"];
      const [index, end, out, position, bits, from, length, hash, slot, number] = names.map(local);
      const [rest, chunk, left] = ["rest", "chunk", "left"].map(local);
      const [bytes, key, lower] = ["bytes", "key", "lower"].map(local);
      /** A bit for each of 16 bytes that is part of a word. */
      const wordBits = [
        set(bytes, vectorLoad(get(index))),
        set(lower, vectorOr(get(bytes), allBytes(0x20))),
        set(
          bits,
          signsOfBytes(
            vectorOr(
              get(bytes),
              vectorOr(
                bytesBelow(subtractBytes(get(lower), allBytes(0x61)), allBytes(26)),
                bytesBelow(subtractBytes(get(bytes), allBytes(0x30)), allBytes(10)),
              ),
            ),
          ),
        ),
      ];
      const moveOn = set(index, add(get(index), trailingZeros(get(bits))));
      const stop = (isDone: number) => [
        store(constant(4 * STATE.isDone), constant(isDone)),
        store(constant(4 * STATE.from), get(from)),
        store(constant(4 * STATE.at), get(index)),
        store(constant(4 * STATE.out), get(out)),
        store(constant(4 * STATE.position), get(position)),
        store(constant(4 * STATE.slot), get(slot)),
      ];
      const maskOf = (byteLength: number) => vectorLoad(shiftLeft(get(byteLength), constant(4)), MASKS);
      const atMost16 = when(atLeast(get(left), constant(17)), set(left, constant(16)));
      const hashKey = [0, 1, 2, 3].map((lane) =>
        set(
          hash,
          rotateLeft(
            multiply(xor(get(hash), laneOfWords(get(key), lane)), constant(0x9e3779b1 | 0)),
            constant(15),
          ),
        ),
      );
      const loadKey = (address: number) => [set(key, vectorAnd(vectorLoad(get(address)), maskOf(left)))];
      return [
        // Within the loop of the words, depth 0 goes on with the next one, 1 is the end of the text, 2 returns.
        block(
          loop(
            block(
              loop(
                leaveWhen(3, atLeast(get(index), get(end))),
                wordBits,
                leaveWhen(1, get(bits)),
                set(index, add(get(index), constant(16))),
                leave(0),
              ),
            ),
            moveOn,
            leaveWhen(1, atLeast(get(index), get(end))),
            set(from, get(index)),
            block(
              loop(
                wordBits,
                set(bits, xor(get(bits), constant(0xffff))),
                leaveWhen(1, get(bits)),
                set(index, add(get(index), constant(16))),
                leaveWhen(0, below(get(index), get(end))),
                set(bits, constant(1)),
              ),
            ),
            moveOn,
            when(below(get(end), get(index)), set(index, get(end))),
            set(length, subtract(get(index), get(from))),
            // Of all of the word; its first part is the key.
            set(hash, xor(get(length), load(constant(4 * STATE.seed)))),
            set(slot, constant(0)),
            block(
              leaveWhen(0, below(constant(MAX_WORD_BYTES), get(length))),
              set(chunk, get(from)),
              loop(
                set(left, subtract(get(index), get(chunk))),
                atMost16,
                loadKey(chunk),
                hashKey,
                set(chunk, add(get(chunk), constant(16))),
                leaveWhen(0, below(get(chunk), get(index))),
              ),
              set(hash, xor(get(hash), shiftRight(get(hash), constant(15)))),
              set(left, get(length)),
              atMost16,
              loadKey(from),
              set(
                slot,
                add(
                  constant(FIRST_SLOT),
                  multiply(and(get(hash), constant(WORD_SLOTS - 1)), constant(WORD_SLOT_BYTES)),
                ),
              ),
              loop(
                set(number, load(get(slot), 16)),
                // Free: the word is not known.
                leaveWhen(1, equal(get(number), constant(FREE))),
                block(
                  leaveWhen(0, vectorsDiffer(get(key), vectorLoad(get(slot)))),
                  leaveWhen(0, xor(get(length), load(get(slot), 20))),
                  set(rest, load(get(slot), 24)),
                  set(chunk, add(get(from), constant(16))),
                  block(
                    loop(
                      leaveWhen(1, atLeast(get(chunk), get(index))),
                      set(left, subtract(get(index), get(chunk))),
                      atMost16,
                      leaveWhen(
                        2,
                        vectorsDiffer(vectorAnd(vectorLoad(get(chunk)), maskOf(left)), vectorLoad(get(rest))),
                      ),
                      set(chunk, add(get(chunk), constant(16))),
                      set(rest, add(get(rest), constant(16))),
                      leave(0),
                    ),
                  ),
                  // It is this word. Depth 2 stops here, 3 goes on with the next one.
                  leaveWhen(2, equal(get(number), constant(ASK))),
                  when(atLeast(get(number), constant(FIRST_NUMBER)), [
                    store(get(out), subtract(get(number), constant(FIRST_NUMBER))),
                    store(get(out), get(position), POSITIONS - NUMBERS),
                    set(out, add(get(out), constant(4))),
                  ]),
                  set(position, add(get(position), constant(1))),
                  leave(3),
                ),
                set(slot, add(get(slot), constant(WORD_SLOT_BYTES))),
                when(
                  atLeast(get(slot), constant(FIRST_SLOT + WORD_SLOTS * WORD_SLOT_BYTES)),
                  set(slot, constant(FIRST_SLOT)),
                ),
                leave(0),
              ),
            ),
            stop(0),
            leave(2),
          ),
        ),
        stop(1),
      ];
    },
  });
  if (made === null) return null;
  const masks = new Uint8Array(made.memory, MASKS, 17 * 16);
  for (let length = 0; length <= 16; length++) masks.fill(0xff, 16 * length, 17 * length);
  return made;
}
