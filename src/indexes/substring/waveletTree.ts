/**
 * Counts how often a byte occurs before a position of a byte string. Each byte has a Huffman code. A node of
 * the tree has a bit for each byte whose code passes it, in their order: the next bit of that code. Bits are
 * in words of 32, lowest first.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { countSetBits } from "../../bytes/bits.js";
import { type ByteCode, byteCodesOf, type CodeTree, codeTree, leafByte } from "./byteCodes.js";

/** Words between two stored counts. */
const COUNTED_WORDS = 16;
/** Bytes per step. */
const STEP_BYTES = 2 ** 15;

/** Bits of a node. */
export interface WaveletNode {
  readonly bitCount: number;
  readonly words: Uint32Array;
}

export class WaveletTree {
  /** Ones before each sixteenth word of a node. */
  readonly #counts: readonly Uint32Array[];
  readonly #codes: readonly ByteCode[];

  private constructor(
    readonly length: number,
    readonly nodes: readonly WaveletNode[],
    readonly tree: CodeTree,
  ) {
    this.#counts = nodes.map(countsOf);
    this.#codes = byteCodesOf(tree);
  }

  /** Builds a tree of a string that has at least two different bytes. */
  static *build(bytes: Uint8Array): Steps<WaveletTree> {
    const counts = yield* occurrencesOf(bytes);
    const tree = codeTree(counts);
    const codes = byteCodesOf(tree);
    const sizes = new Uint32Array(tree.length / 2);
    for (const [byte, code] of codes.entries()) for (const turn of code) sizes[turn >>> 1] += counts[byte];
    // LanceDB's words have 64 bits.
    const nodes = Array.from(sizes, (bitCount) => ({
      bitCount,
      words: new Uint32Array(2 * Math.ceil(bitCount / 64)),
    }));
    const ends = new Uint32Array(sizes.length);
    const pace = new Pace(STEP_BYTES);
    for (const byte of bytes) {
      if (pace.isStep()) yield;
      const code = codes[byte];
      for (let level = 0; level < code.length; level++) {
        const turn = code[level];
        const bit = ends[turn >>> 1]++;
        if ((turn & 1) === 1) nodes[turn >>> 1].words[bit >>> 5] |= 1 << (bit & 31);
      }
    }
    return new WaveletTree(bytes.length, nodes, tree);
  }

  /**
   * Opens a stored tree.
   * @param fail throws; called if the nodes do not hold the bits that their parents say
   */
  static open(
    length: number,
    nodes: readonly WaveletNode[],
    tree: CodeTree,
    fail: (reason: string) => never,
  ): WaveletTree {
    if (tree.length !== 2 * nodes.length || (length > 0 && nodes.length === 0))
      fail("the tree of codes does not fit its nodes");
    const opened = new WaveletTree(length, nodes, tree);
    if (length > 0) opened.#check(fail);
    return opened;
  }

  #check(fail: (reason: string) => never): void {
    const sizes = new Float64Array(this.nodes.length);
    sizes[0] = this.length;
    // A node comes before its children, so that no node is a child of itself.
    for (const [node, { bitCount, words }] of this.nodes.entries()) {
      if (bitCount !== sizes[node] || words.length < Math.ceil(bitCount / 32))
        fail(`node ${node} has a wrong number of bits`);
      const ones = this.#ones(node, bitCount);
      for (const [bit, child] of [this.tree[2 * node], this.tree[2 * node + 1]].entries())
        if (child >= 0) sizes[child] += bit === 1 ? ones : bitCount - ones;
    }
  }

  /** Returns the number of occurrences of a byte before a position. */
  rank(byte: number, position: number): number {
    const code = this.#codes[byte];
    if (code.length === 0) return 0;
    let rank = position;
    for (let level = 0; level < code.length; level++) {
      const ones = this.#ones(code[level] >>> 1, rank);
      rank = (code[level] & 1) === 1 ? ones : rank - ones;
    }
    return rank;
  }

  /** Returns 256 times the number of equal bytes before a position, plus the byte there. */
  rankAndByte(position: number): number {
    const { nodes, tree } = this;
    let rank = position;
    for (let node = 0; ; ) {
      const bit = (nodes[node].words[rank >>> 5] >>> (rank & 31)) & 1;
      const ones = this.#ones(node, rank);
      rank = bit === 1 ? ones : rank - ones;
      const child = tree[2 * node + bit];
      if (child < 0) return rank * 256 + leafByte(child);
      node = child;
    }
  }

  /** Returns the ones of a node before a bit. */
  #ones(node: number, bit: number): number {
    const { words } = this.nodes[node];
    const word = bit >>> 5;
    const counted = word - (word % COUNTED_WORDS);
    let ones = this.#counts[node][counted / COUNTED_WORDS];
    for (let index = counted; index < word; index++) ones += countSetBits(words[index]);
    const rest = bit & 31;
    return rest === 0 ? ones : ones + countSetBits(words[word] & ((1 << rest) - 1));
  }

  get memoryWeight(): number {
    return this.nodes.reduce((sum, { words }) => sum + 2 * words.byteLength + 128, 4096);
  }
}

function countsOf({ words }: WaveletNode): Uint32Array {
  const counts = new Uint32Array(Math.ceil(words.length / COUNTED_WORDS) + 1);
  let ones = 0;
  for (let index = 0; index < words.length; index++) {
    if (index % COUNTED_WORDS === 0) counts[index / COUNTED_WORDS] = ones;
    ones += countSetBits(words[index]);
  }
  if (words.length % COUNTED_WORDS === 0) counts[words.length / COUNTED_WORDS] = ones;
  return counts;
}

/** Counts the occurrences of each byte. */
export function* occurrencesOf(bytes: Uint8Array): Steps<Uint32Array> {
  const counts = new Uint32Array(256);
  const pace = new Pace(16 * STEP_BYTES);
  for (let index = 0; index < bytes.length; index++) {
    if (pace.isStep()) yield;
    counts[bytes[index]]++;
  }
  return counts;
}
