/**
 * Huffman codes of bytes, as FM indexes store them. The nodes of the tree are numbered from the root, 0, each
 * before its children. Numbers are little-endian.
 *
 *     tree   u32 nodeCount
 *            nodeCount times, for bit 0 and bit 1:  u8 kind: 0 a node, 1 a byte;  u32 node or byte
 *     codes  256 times:  u32 bits of the code, its first one highest
 *                        u8 length
 *                        u16 nodeCount, u32 each: nodes on the way from the root
 */

import { readUint32 } from "../../bytes/littleEndian.js";

const BYTES = 256;
/** Maximum length of a code. */
const MAX_BITS = 32;
const TREE_HEADER_BYTES = 4;
const CHILD_BYTES = 5;
const CODE_BYTES = 7;

/** Children of each node, for bit 0 and bit 1: a node, or a byte as its complement. */
export type CodeTree = Int32Array;

/** Code of a byte: for each bit, 2 × node + bit, from the root. Empty for a byte without code. */
export type ByteCode = readonly number[];

/** Returns the byte of a child that is no node. */
export const leafByte = (child: number): number => ~child;

interface Branch {
  readonly count: number;
  /** A byte, or two branches. */
  readonly of: number | readonly [Branch, Branch];
}

/** Makes the tree of the shortest codes. @param counts occurrences of each byte; two at least occur */
export function codeTree(counts: Uint32Array): CodeTree {
  for (let weights = counts; ; weights = weights.map((count) => (count === 0 ? 0 : (count >>> 1) + 1))) {
    const tree = shortestCodes(weights);
    // Rarer bytes with equal weights have shorter codes.
    if (byteCodesOf(tree).every(({ length }) => length <= MAX_BITS)) return tree;
  }
}

function shortestCodes(counts: Uint32Array): CodeTree {
  let branches: Branch[] = [];
  for (const [byte, count] of counts.entries()) if (count > 0) branches.push({ count, of: byte });
  while (branches.length > 1) {
    branches.sort((a, b) => a.count - b.count);
    const [least, second, ...others] = branches;
    branches = [...others, { count: least.count + second.count, of: [least, second] }];
  }
  const children: number[] = [];
  const number = ({ of }: Branch): number => {
    if (typeof of === "number") return ~of;
    const node = children.length / 2;
    children.push(0, 0);
    children[2 * node] = number(of[0]);
    children[2 * node + 1] = number(of[1]);
    return node;
  };
  number(branches[0]);
  return Int32Array.from(children);
}

/** Returns the code of each byte. */
export function byteCodesOf(tree: CodeTree): ByteCode[] {
  const codes: ByteCode[] = Array.from({ length: BYTES }, () => []);
  const waiting: { readonly child: number; readonly code: ByteCode }[] = [];
  if (tree.length > 0) waiting.push({ child: 0, code: [] });
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { child, code } = next;
    if (child < 0) codes[leafByte(child)] = code;
    else
      for (const turn of [2 * child, 2 * child + 1])
        waiting.push({ child: tree[turn], code: [...code, turn] });
  }
  return codes;
}

export function encodeTree(tree: CodeTree): Uint8Array {
  const bytes = new Uint8Array(TREE_HEADER_BYTES + tree.length * CHILD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, tree.length / 2, true);
  for (const [index, child] of tree.entries()) {
    const offset = TREE_HEADER_BYTES + index * CHILD_BYTES;
    view.setUint8(offset, child < 0 ? 1 : 0);
    view.setUint32(offset + 1, child < 0 ? leafByte(child) : child, true);
  }
  return bytes;
}

/** @param fail throws; called for bytes that are not a tree in this form */
export function decodeTree(bytes: Uint8Array, fail: (reason: string) => never): CodeTree {
  const nodeCount = bytes.length < TREE_HEADER_BYTES ? -1 : readUint32(bytes, 0);
  if (nodeCount >= BYTES || bytes.length !== TREE_HEADER_BYTES + 2 * nodeCount * CHILD_BYTES)
    return fail("the tree of codes has a wrong length");
  const tree = new Int32Array(2 * nodeCount);
  const seen = new Set<number>([0]);
  for (let index = 0; index < tree.length; index++) {
    const offset = TREE_HEADER_BYTES + index * CHILD_BYTES;
    const value = readUint32(bytes, offset + 1);
    const child = bytes[offset] === 0 ? value : ~value;
    const isInOrder = bytes[offset] === 0 ? value > index >>> 1 && value < nodeCount : value < BYTES;
    if (!isInOrder || seen.has(child)) fail("the tree of codes has a node twice or out of order");
    seen.add(child);
    tree[index] = child;
  }
  return tree;
}

export function encodeCodes(tree: CodeTree): Uint8Array {
  const codes = byteCodesOf(tree);
  const bytes = new Uint8Array(codes.reduce((sum, { length }) => sum + CODE_BYTES + 4 * length, 0));
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const code of codes) {
    const bits = code.reduce((sum, turn) => (sum << 1) | (turn & 1), 0);
    view.setUint32(offset, bits >>> 0, true);
    view.setUint8(offset + 4, code.length);
    view.setUint16(offset + 5, code.length, true);
    offset += CODE_BYTES;
    for (const turn of code) {
      view.setUint32(offset, turn >>> 1, true);
      offset += 4;
    }
  }
  return bytes;
}
