/**
 * Hashes of single values. Values that are equal for `RowOrder` have equal hashes. A hash covers a bounded
 * part of a value, so that long values need no further steps. Its seed is random, so that callers cannot
 * choose many values of one hash.
 */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { HASH_PRIME } from "../../bytes/hash.js";
import { bitsOf, byteLane, numbersOf, wordLane } from "../values/operands.js";
import { listLane } from "../values/scalars.js";
import { byteWidthOf, type ValueType } from "../values/types.js";

const SEED = Math.floor(Math.random() * 2 ** 32) | 0;

/** Number of bytes of a text in its hash: from its beginning, and from its end. */
const HASHED_BYTES = 2 ** 11;
/** Maximum work on one value, besides its first member: a hash of a number has work 1. */
const MAX_WORK = 2 ** 8;
/** Number of bytes that are hashed in the time of one number. */
const BYTES_PER_WORK = 16;

/** Hashes of nulls, of NaN, and of values that all share one hash. */
const NULL_HASH = 0x2545f491;
const NAN_HASH = 0x7ff80000;

const mixed = (hash: number, word: number): number => {
  const product = Math.imul(hash ^ word, HASH_PRIME);
  return product ^ (product >>> 15);
};

interface Budget {
  left: number;
}

type HashOfRow = (row: number, hash: number) => number;

export class RowHash {
  readonly #budget: Budget = { left: 0 };
  readonly #hash: HashOfRow;

  constructor(column: Column, type: ValueType) {
    this.#hash = hashOfRows(column, type, this.#budget);
  }

  /** Returns a signed hash of 32 bits. */
  of(row: number): number {
    this.#budget.left = MAX_WORK;
    return mixed(this.#hash(row, SEED), SEED);
  }

  /** Work of the last hash: 1 for a number. */
  get work(): number {
    return MAX_WORK - this.#budget.left;
  }
}

function hashOfRows(column: Column, type: ValueType, budget: Budget): HashOfRow {
  const hashValue = hashOfValues(column, type, budget);
  const { validity } = column;
  return (row, hash) => {
    budget.left--;
    return isValid(validity, row) ? hashValue(row, hash) : mixed(hash, NULL_HASH);
  };
}

function hashOfValues(column: Column, type: ValueType, budget: Budget): HashOfRow {
  switch (type.kind) {
    case "null":
    case "other":
      return (_, hash) => mixed(hash, NULL_HASH);
    case "bool": {
      const bits = bitsOf({ column, step: 1 }, column.length);
      return (row, hash) => mixed(hash, (bits[row >>> 3] >>> (row & 7)) & 1);
    }
    case "string":
    case "binary":
    case "fixedSizeBinary": {
      const { bytes, offsets } = byteLane({ column, step: 1 });
      return (row, hash) => {
        const start = offsets[row];
        const end = offsets[row + 1];
        const size = end - start;
        const seed = mixed(hash, size);
        if (size <= 2 * HASHED_BYTES) {
          budget.left -= size / BYTES_PER_WORK;
          return hashBytes(seed, bytes, start, end);
        }
        budget.left -= (2 * HASHED_BYTES) / BYTES_PER_WORK;
        return hashBytes(hashBytes(seed, bytes, start, start + HASHED_BYTES), bytes, end - HASHED_BYTES, end);
      };
    }
    case "list": {
      const { items, offsets } = listLane({ column, step: 1 });
      const hashItem = hashOfRows(items, type.item, budget);
      return (row, seed) => {
        const end = offsets[row + 1];
        let hash = mixed(seed, end - offsets[row]);
        for (let item = offsets[row]; item < end && budget.left > 0; item++) hash = hashItem(item, hash);
        return hash;
      };
    }
    case "struct": {
      if (!("children" in column)) return (_, hash) => hash;
      const members = type.members.map((member, index) =>
        hashOfRows(column.children[index], member.type, budget),
      );
      return (row, seed) => {
        let hash = seed;
        for (let index = 0; index < members.length && budget.left > 0; index++) {
          hash = members[index](row, hash);
        }
        return hash;
      };
    }
  }
  return hashOfNumbers(column, type);
}

function hashOfNumbers(column: Column, type: ValueType): HashOfRow {
  const width = byteWidthOf(type);
  if (type.kind === "float") {
    const numbers = numbersOf({ column, step: 1 }, type);
    const float = new Float64Array(1);
    const words = new Int32Array(float.buffer);
    return (row, hash) => {
      const number = numbers[row];
      if (Number.isNaN(number)) return mixed(hash, NAN_HASH);
      // Both zeros are equal.
      float[0] = number + 0;
      return mixed(mixed(hash, words[0]), words[1]);
    };
  }
  if (width <= 4) {
    const numbers = numbersOf({ column, step: 1 }, type);
    return (row, hash) => mixed(hash, numbers[row]);
  }
  const words = wordLane({ column, step: 1 });
  const wordCount = width / 4;
  return (row, seed) => {
    let hash = seed;
    const end = (row + 1) * wordCount;
    for (let word = row * wordCount; word < end; word++) hash = mixed(hash, words[word]);
    return hash;
  };
}

function hashBytes(seed: number, bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  let offset = start;
  for (; offset + 4 <= end; offset += 4) {
    hash = mixed(
      hash,
      bytes[offset] | (bytes[offset + 1] << 8) | (bytes[offset + 2] << 16) | (bytes[offset + 3] << 24),
    );
  }
  for (; offset < end; offset++) hash = mixed(hash, bytes[offset]);
  return hash;
}
