/**
 * FSST encoding as a WebAssembly kernel: the loop of `encodeRows` in fsst.ts, with the same codes. It encodes several
 * stretches of the values at once, so that the processor looks up a symbol of one while it waits for that of another.
 * It chooses between symbols without branches, which text makes unpredictable.
 *
 * Values are passed in blocks that fit the kernel's memory, which is kept as small as a cache:
 *
 *     slots     2048 × { u64 symbol, u32 entry, 4 bytes unused }, by the hash of the next three bytes
 *     shorts    65536 × u16 entry, by the next two bytes
 *     singles   256 × u16 entry, by the next byte
 *     offsets   of the block's values; replaced by where in the memory their codes end
 *     input     the block's bytes, and some that belong to none
 *     output    codes
 *
 * An entry says which code to write, and how many bytes that reads and writes:
 *
 *     bits 0–7    code; 255, the escape, for a byte without symbol
 *     bits 8–11   bytes of the symbol
 *     bits 12–13  bytes written: 1, or 2 for an escaped byte
 */

import { HASH_PRIME } from "../../bytes/hash.js";
import {
  above,
  add,
  and,
  atMost,
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
  low32,
  multiply,
  or,
  select,
  set,
  shiftLeft,
  shiftLeft64,
  shiftRight,
  store,
  store16,
  subtract,
  when,
  widen,
  xor64,
} from "../../bytes/wasm.js";
import { type FsstSymbolTable, HASH_SHIFT } from "./fsstTraining.js";

const SLOT_COUNT = 2 ** (32 - HASH_SHIFT);
/** Most bytes and values of a block. */
const BLOCK_BYTES = 1 << 17;
const BLOCK_VALUES = 1 << 14;
/** Stretches that are encoded side by side. */
const STRETCHES = 4;

const SHORTS = 16 * SLOT_COUNT;
const SINGLES = SHORTS + 2 * 65536;
const OFFSETS = SINGLES + 2 * 256;
const INPUT = OFFSETS + 4 * (BLOCK_VALUES + 2);
const OUTPUT = INPUT + BLOCK_BYTES + 64;
const PAGES = Math.ceil((OUTPUT + 2 * BLOCK_BYTES + 64 * STRETCHES) / 65536);

const STRETCH_NUMBERS = Array.from({ length: STRETCHES }, (_, stretch) => stretch);

/**
 * Encodes one symbol of a stretch, or steps to its next value.
 * @param exit depth of the block to leave once the stretch is done, seen from the loop that contains the step
 */
function step(local: (name: string) => number, stretch: number, exit: number): Code {
  const of = (name: string): number => local(`${name}${stretch}`);
  const value = of("value");
  const write = of("write");
  const read = of("read");
  const end = of("end");
  const entry = local("entry");
  const length = local("length");
  const word = local("word");
  const lengthOf = (code: Code): Code => and(shiftRight(code, constant(8)), constant(15));
  const left = subtract(get(end), get(read));
  const slot = local("slot");
  const hash = shiftRight(
    multiply(and(low32(get(word)), constant(0xffffff)), constant(HASH_PRIME)),
    constant(HASH_SHIFT),
  );
  return when(
    equal(get(read), get(end)),
    [
      set(value, add(get(value), constant(4))),
      store(get(value), get(write)),
      leaveWhen(exit + 1, equal(get(value), get(of("last")))),
      set(end, add(get(local("base")), load(get(value), 4))),
    ],
    [
      set(word, load64(get(read))),
      set(slot, shiftLeft(hash, constant(4))),
      set(entry, load(get(slot), 8)),
      set(length, lengthOf(get(entry))),
      // The condition: the symbol's bytes are equal, and all of them lie in the value.
      set(
        entry,
        select(
          get(entry),
          load16(shiftLeft(and(low32(get(word)), constant(0xffff)), constant(1)), SHORTS),
          and(
            isZero64(
              shiftLeft64(
                xor64(get(word), load64(get(slot))),
                widen(subtract(constant(64), shiftLeft(get(length), constant(3)))),
              ),
            ),
            atMost(get(length), left),
          ),
        ),
      ),
      when(
        above(lengthOf(get(entry)), left),
        set(entry, load16(shiftLeft(and(low32(get(word)), constant(0xff)), constant(1)), SINGLES)),
      ),
      store16(get(write), or(and(get(entry), constant(0xff)), shiftLeft(low32(get(word)), constant(8)))),
      set(write, add(get(write), shiftRight(get(entry), constant(12)))),
      set(read, add(get(read), lengthOf(get(entry)))),
    ],
  );
}

const fsstKernel = (): Kernel | null =>
  kernel({
    parameters: ["base", ...STRETCH_NUMBERS.flatMap((n) => [`value${n}`, `last${n}`, `write${n}`])],
    locals32: [...STRETCH_NUMBERS.flatMap((n) => [`read${n}`, `end${n}`]), "entry", "length", "slot"],
    locals64: ["word"],
    pages: PAGES,
    body: (local) => {
      const begin = (n: number): Code => [
        set(local(`read${n}`), add(get(local("base")), load(get(local(`value${n}`))))),
        set(local(`end${n}`), add(get(local("base")), load(get(local(`value${n}`)), 4))),
      ];
      const isDone = (n: number): Code => equal(get(local(`value${n}`)), get(local(`last${n}`)));
      return [
        STRETCH_NUMBERS.map(begin),
        block(
          STRETCH_NUMBERS.map((n) => leaveWhen(0, isDone(n))),
          loop(
            STRETCH_NUMBERS.map((n) => step(local, n, 1)),
            leave(0),
          ),
        ),
        // The rest of each stretch, once one of them is done.
        STRETCH_NUMBERS.map((n) => block(leaveWhen(0, isDone(n)), loop(step(local, n, 1), leave(0)))),
      ];
    },
  });

interface Room {
  readonly kernel: Kernel;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly entries: Uint16Array;
}

export const fsstEncoder = new KernelUse<Room>(() => {
  const made = fsstKernel();
  if (made === null) return null;
  return {
    kernel: made,
    bytes: new Uint8Array(made.memory),
    words: new Int32Array(made.memory),
    entries: new Uint16Array(made.memory),
  };
});

/** Turns an entry of a symbol table into one of the kernel. */
const entryOf = (entry: number): number => (entry === 0 ? 0x21ff : 0x1000 | entry);

function setTable({ words, entries }: Room, table: FsstSymbolTable): void {
  const { slots, slotCodes, shortCodes } = table;
  for (let slot = 0; slot < SLOT_COUNT; slot++) {
    const entry = slotCodes[slot];
    words[4 * slot] = slots[4 * slot];
    words[4 * slot + 1] = slots[4 * slot + 1];
    // In an empty slot three bytes are compared; they hash elsewhere, so they never match.
    words[4 * slot + 2] = entry === 0 ? 3 << 8 : 0x1000 | entry;
  }
  const shorts = SHORTS / 2;
  for (let next = 0; next < 1 << 16; next++) entries[shorts + next] = entryOf(shortCodes[next]);
  const singles = table.byteCodes();
  for (let byte = 0; byte < 256; byte++) entries[SINGLES / 2 + byte] = entryOf(singles[byte]);
}

/** Encodes values; null where the codes take more than `limit` bytes. Undefined where the kernel can't be used. */
export function encodeInKernel(
  table: FsstSymbolTable,
  offsets: Int32Array,
  bytes: Uint8Array,
  limit: number,
): { offsets: Int32Array; bytes: Uint8Array } | null | undefined {
  const room = fsstEncoder.get();
  if (room === null) return undefined;
  const { words, bytes: memory } = room;
  const count = offsets.length - 1;
  setTable(room, table);
  const output = new Uint8Array(limit);
  const positions = new Int32Array(count + 1);
  let size = 0;
  for (let first = 0; first < count; ) {
    const last = blockEnd(offsets, first);
    const start = offsets[first];
    // The value is longer than a block.
    if (last === first) return undefined;
    memory.set(bytes.subarray(start, offsets[last]), INPUT);
    words.set(offsets.subarray(first, last + 1), OFFSETS / 4);
    const bounds = STRETCH_NUMBERS.map((n) => first + Math.floor((n * (last - first)) / STRETCHES));
    bounds.push(last);
    const address = (value: number): number => OFFSETS + 4 * (value - first);
    const writes = STRETCH_NUMBERS.map((n) => OUTPUT + 2 * (offsets[bounds[n]] - start) + 64 * n);
    room.kernel.run(
      INPUT - start,
      ...STRETCH_NUMBERS.flatMap((n) => [address(bounds[n]), address(bounds[n + 1]), writes[n]]),
    );
    for (const n of STRETCH_NUMBERS) {
      if (bounds[n] === bounds[n + 1]) continue;
      const shift = size - writes[n];
      const end = words[address(bounds[n + 1]) / 4];
      if (end + shift > limit) return null;
      for (let value = bounds[n] + 1, at = address(value) / 4; value <= bounds[n + 1]; value++, at++) {
        positions[value] = words[at] + shift;
      }
      output.set(memory.subarray(writes[n], end), size);
      size += end - writes[n];
    }
    first = last;
  }
  return { offsets: positions, bytes: output.subarray(0, size) };
}

/** One past the last value of the block that begins with `first`. */
function blockEnd(offsets: Int32Array, first: number): number {
  const most = Math.min(offsets.length - 1, first + BLOCK_VALUES);
  const limit = offsets[first] + BLOCK_BYTES;
  if (offsets[most] <= limit) return most;
  let low = first;
  let high = most;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (offsets[middle] <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
