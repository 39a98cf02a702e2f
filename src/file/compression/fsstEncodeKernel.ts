/**
 * FSST encoding as a WebAssembly kernel: the loop of `encodeRows` in fsst.ts. One code leads to the place of the next, and
 * finding it waits for memory most of the time, so two runs of values are encoded by turns. Values are passed in blocks, none
 * of which is split. Its memory:
 *
 *     symbols     by slot of the first three bytes: 8 bytes, zero-padded
 *     entries     by slot: code and length × 256 of the symbol, as u16; 0 where there is none
 *     masks       by length: which of 8 bytes count; all of them for length 0, whose symbol no bytes equal
 *     byteCodes   by the next byte: code and length × 256 of the symbol of that byte alone, or 0
 *     shortCodes  by the next two bytes: the same of the longest symbol of one or two bytes, or 0
 *     ends        u32 for each value of the block: where it ends, and then where its codes end
 *     input       the values, as far behind a multiple of 8 as where they came from, and 8 bytes more
 *     output      their codes, at most two for each byte: of the first run from the start, of the second from twice as many
 *                 bytes on as the first run has
 */

import { ESCAPE_CODE } from "../../arrow/columns/codedValues.js";
import { phaseOf } from "../../bytes/aligned.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import {
  above,
  add,
  and,
  and64,
  block,
  type Code,
  constant,
  equal,
  get,
  isZero64,
  type Kernel,
  KernelUse,
  kernel,
  leave,
  leaveWhen,
  load,
  load16,
  load64,
  loop,
  multiply,
  or,
  select,
  set,
  shiftLeft,
  shiftRight,
  store,
  store8,
  when,
  xor64,
} from "../../bytes/wasm.js";
import { type FsstSymbolTable, HASH_SHIFT } from "./fsstTraining.js";

/** Most bytes, and most values, of a block. */
export const ENCODED_BYTES = 64 * 1024;
export const ENCODED_VALUES = 8192;

const SLOTS = 1 << (32 - HASH_SHIFT);
const SYMBOLS = 0;
const ENTRIES = SYMBOLS + 8 * SLOTS;
const MASKS = ENTRIES + 2 * SLOTS;
const BYTE_CODES = MASKS + 8 * 16;
const SHORT_CODES = BYTE_CODES + 2 * 256;
const ENDS = SHORT_CODES + 2 * 65536;
const INPUT = ENDS + 4 * ENCODED_VALUES;
const OUTPUT = INPUT + ENCODED_BYTES + 16;
const PAGES = Math.ceil((OUTPUT + 2 * ENCODED_BYTES) / 65536);

/** Where a run of values is: `place` is that of the end of its current value, `end` what stands there. */
const RUN_LOCALS = ["read", "end", "write", "place", "last"] as const;
type RunLocal = (typeof RUN_LOCALS)[number];
const RUNS = ["first", "second"] as const;

const encodeKernel = (): Kernel | null =>
  kernel({
    parameters: RUNS.flatMap((run) => ["read", "write", "place", "last"].map((name) => `${name} ${run}`)),
    locals: [...RUNS.map((run) => `end ${run}`), "low", "slot", "entry"],
    pages: PAGES,
    body: (local) => {
      const [low, slot, entry] = [local("low"), local("slot"), local("entry")];
      const places = RUNS.map(
        (run) => Object.fromEntries(RUN_LOCALS.map((name) => [name, local(`${name} ${run}`)])) as Run,
      );
      const length = shiftRight(get(entry), constant(8));
      const twice = (value: Code): Code => shiftLeft(value, constant(1));
      const eightfold = (value: Code): Code => shiftLeft(value, constant(3));
      /** Encodes the next bytes of a run, of which there are some. */
      const step = ({ read, end, write }: Run): Code => {
        const reachesOver = above(add(get(read), length), get(end));
        const differs = equal(
          isZero64(
            and64(
              xor64(load64(get(read)), load64(eightfold(get(slot)), SYMBOLS)),
              load64(eightfold(length), MASKS),
            ),
          ),
          constant(0),
        );
        return [
          set(low, load(get(read))),
          set(
            slot,
            shiftRight(
              multiply(and(get(low), constant(0xffffff)), constant(HASH_PRIME)),
              constant(HASH_SHIFT),
            ),
          ),
          set(entry, load16(twice(get(slot)), ENTRIES)),
          set(
            entry,
            select(
              load16(twice(and(get(low), constant(0xffff))), SHORT_CODES),
              get(entry),
              or(differs, reachesOver),
            ),
          ),
          when(reachesOver, set(entry, load16(twice(and(get(low), constant(0xff))), BYTE_CODES))),
          when(
            equal(get(entry), constant(0)),
            [
              store8(get(write), constant(ESCAPE_CODE)),
              store8(add(get(write), constant(1)), get(low)),
              set(write, add(get(write), constant(2))),
              set(read, add(get(read), constant(1))),
            ],
            [
              store8(get(write), get(entry)),
              set(write, add(get(write), constant(1))),
              set(read, add(get(read), length)),
            ],
          ),
        ];
      };
      /** Goes on to the next value with bytes; leaves `depth` blocks where there is none. */
      const next = ({ read, end, write, place: position, last }: Run, depth: number): Code =>
        loop(
          block(
            leaveWhen(0, above(get(end), get(read))),
            store(get(position), get(write)),
            set(position, add(get(position), constant(4))),
            leaveWhen(depth + 2, equal(get(position), get(last))),
            set(end, load(get(position))),
            leave(1),
          ),
        );
      const [first, second] = places;
      const alone = (run: Run): Code =>
        block(leaveWhen(0, equal(get(run.place), get(run.last))), loop(next(run, 1), step(run), leave(0)));
      return [
        places.map(({ end, place: position }) => set(end, load(get(position)))),
        block(
          places.map(({ place: position, last }) => leaveWhen(0, equal(get(position), get(last)))),
          loop(next(first, 1), next(second, 1), step(first), step(second), leave(0)),
        ),
        places.map(alone),
      ];
    },
  });

type Run = Readonly<Record<RunLocal, number>>;

/** The kernel with the views of its memory. */
export class FsstEncoder {
  readonly #run: Kernel["run"];
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #shorts: Uint16Array;

  constructor({ run, memory }: Kernel) {
    this.#run = run;
    this.#bytes = new Uint8Array(memory);
    this.#words = new Int32Array(memory);
    this.#shorts = new Uint16Array(memory);
    this.#words.fill(-1, MASKS / 4, MASKS / 4 + 2);
    for (let length = 1; length <= 8; length++) {
      this.#bytes.fill(0xff, MASKS + 8 * length, MASKS + 9 * length);
    }
  }

  /** Sets the symbols of the values that follow. */
  setTable(table: FsstSymbolTable): void {
    const { slots, slotCodes, shortCodes } = table;
    for (let slot = 0; slot < SLOTS; slot++) {
      this.#words[SYMBOLS / 4 + 2 * slot] = slots[4 * slot];
      this.#words[SYMBOLS / 4 + 2 * slot + 1] = slots[4 * slot + 1];
    }
    this.#shorts.set(slotCodes, ENTRIES / 2);
    this.#shorts.set(table.byteCodes(), BYTE_CODES / 2);
    this.#shorts.set(shortCodes, SHORT_CODES / 2);
  }

  /**
   * Encodes values `first` to `last − 1`, at most {@link ENCODED_VALUES} with at most {@link ENCODED_BYTES}.
   * @param positions gets the end of each value's codes behind `positions[first]`, counted on from what stands there
   * @returns the codes, in two pieces; views that the next call overwrites
   */
  encode(
    offsets: Int32Array,
    bytes: Uint8Array,
    first: number,
    last: number,
    positions: Int32Array,
  ): [Uint8Array, Uint8Array] {
    const start = offsets[first];
    const byteCount = offsets[last] - start;
    const values = bytes.subarray(start, offsets[last]);
    const input = INPUT + phaseOf(values);
    this.#bytes.set(values, input);
    const ends = ENDS / 4;
    const shift = input - start;
    let middle = first;
    for (let value = first; value < last; value++) {
      const end = offsets[value + 1];
      this.#words[ends + value - first] = end + shift;
      if (2 * (end - start) <= byteCount) middle = value + 1;
    }
    const firstBytes = offsets[middle] - start;
    const secondOutput = OUTPUT + 2 * firstBytes;
    const places = [ENDS, ENDS + 4 * (middle - first), ENDS + 4 * (last - first)];
    this.#run(
      ...[input, OUTPUT, places[0], places[1]],
      ...[input + firstBytes, secondOutput, places[1], places[2]],
    );
    const firstSize = this.#collect(positions, first, middle, OUTPUT, ends - first);
    const secondSize = this.#collect(positions, middle, last, secondOutput, ends - first);
    return [
      this.#bytes.subarray(OUTPUT, OUTPUT + firstSize),
      this.#bytes.subarray(secondOutput, secondOutput + secondSize),
    ];
  }

  /** @returns the size of the codes of these values */
  #collect(positions: Int32Array, first: number, last: number, output: number, ends: number): number {
    const shift = positions[first] - output;
    for (let value = first; value < last; value++) positions[value + 1] = this.#words[ends + value] + shift;
    return positions[last] - positions[first];
  }
}

/** One encoder is enough, because a page is encoded without a break. */
export const fsstEncoder = new KernelUse(() => {
  const made = encodeKernel();
  return made === null ? null : new FsstEncoder(made);
});
