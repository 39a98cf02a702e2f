/**
 * Reads a finite state transducer that maps tokens to numbers:
 *
 *     u64 version (3); u64 type; nodes; u64 keyCount; u64 root address; u32 masked CRC-32C of all before
 *
 * The address of a node is its last byte, from which it is read backwards. The upper bits of that byte select
 * its form:
 *
 *     11   one transition to the node right before, without output; low bits: the input, by COMMON
 *     10   one transition: input as above, or in the byte before; sizes; address delta; output
 *     0x   any number: count in the low bits, or in the byte before; sizes; 256-byte table if more than 32;
 *          inputs; deltas; outputs; the final output if the node is final (bit 6)
 *
 * The value of a key is the sum of the outputs on its path.
 */

import { enlarged } from "../../bytes/growing.js";
import { CorruptFileError } from "../../errors.js";

const VERSION = 3;
const HEADER_BYTES = 16;
const FOOTER_BYTES = 20;
/** Inputs with a short code, from 1 on. */
const COMMON = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHGW";
/** Nodes with more transitions have a look-up table. */
const TABLE_FROM = 32;
/** Maximum bytes of a token. */
const MAX_KEY_BYTES = 1 << 26;
const FIRST_KEY_BYTES = 256;

interface Node {
  readonly isFinal: boolean;
  readonly finalOutput: number;
  readonly count: number;
  input(index: number): number;
  output(index: number): number;
  /** Address of a transition's target node. */
  target(index: number): number;
}

const EMPTY_FINAL: Node = {
  isFinal: true,
  finalOutput: 0,
  count: 0,
  input: () => 0,
  output: () => 0,
  target: () => 0,
};

/** @throws CorruptFileError from all methods */
export class TokenFst {
  readonly #end: number;
  readonly keyCount: number;
  /** Address of the root node. */
  readonly #root: number;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly path: string,
  ) {
    if (bytes.length < HEADER_BYTES + FOOTER_BYTES) this.#fail("it is too short");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (numberAt(view, 0) !== VERSION) this.#fail("its version is unknown");
    this.#end = bytes.length - FOOTER_BYTES;
    this.keyCount = numberAt(view, this.#end);
    this.#root = numberAt(view, this.#end + 8);
  }

  #fail(reason: string): never {
    throw new CorruptFileError(this.path, 0, `token transducer: ${reason}`);
  }

  /** Passes each key and its number to `use`, in byte order. The bytes are valid during the call. */
  *walk(use: (key: Uint8Array, value: number) => void): Generator<void> {
    const { keyCount } = this;
    let keysRead = 0;
    let key = new Uint8Array(FIRST_KEY_BYTES);
    // Nodes on the current path. Targets precede their node, so every path ends.
    const nodes: { readonly node: Node; next: number; readonly sum: number }[] = [];
    const enter = (address: number, sum: number): void => {
      const node = this.#read(address);
      if (node.isFinal) {
        if (++keysRead > keyCount) this.#fail("it has more keys than its footer says");
        use(key.subarray(0, nodes.length), this.#checkedNumber(sum + node.finalOutput));
      }
      if (nodes.length >= MAX_KEY_BYTES) this.#fail("a key is too long");
      if (nodes.length === key.length) key = enlarged(key);
      nodes.push({ node, next: 0, sum });
    };
    enter(this.#root, 0);
    for (let step = 1; nodes.length > 0; step++) {
      if (step % 65_536 === 0) yield;
      const top = nodes[nodes.length - 1];
      const { node, next, sum } = top;
      if (next === node.count) {
        nodes.pop();
        continue;
      }
      top.next++;
      key[nodes.length - 1] = node.input(next);
      enter(node.target(next), sum + node.output(next));
    }
    if (keysRead !== keyCount) this.#fail(`it has ${keysRead} keys, but its footer says ${keyCount}`);
  }

  /** Returns the number of a key; -1 if absent. Reads only the nodes on its path. */
  find(key: Uint8Array): number {
    let node = this.#read(this.#root);
    let sum = 0;
    for (const input of key) {
      let index = 0;
      while (index < node.count && node.input(index) !== input) index++;
      if (index === node.count) return -1;
      sum += node.output(index);
      node = this.#read(node.target(index));
    }
    return node.isFinal ? this.#checkedNumber(sum + node.finalOutput) : -1;
  }

  #checkedNumber(number: number): number {
    if (number < this.keyCount) return number;
    return this.#fail(`a key has the number ${number}, but there are ${this.keyCount} keys`);
  }

  #read(address: number): Node {
    if (address === 0) return EMPTY_FINAL;
    if (address < HEADER_BYTES || address >= this.#end) this.#fail("a node lies outside of the file");
    const state = this.bytes[address];
    return state >= 0x80 ? this.#single(address, state) : this.#many(address, state);
  }

  #single(address: number, state: number): Node {
    let index = address - 1;
    const common = state & 0x3f;
    const input = common === 0 ? this.#byte(index--) : COMMON.charCodeAt(common - 1);
    let output = 0;
    let target = index;
    if (state < 0xc0) {
      const sizes = this.#byte(index--);
      const deltaBytes = sizes >>> 4;
      const outputBytes = sizes & 15;
      const delta = this.#number(index, deltaBytes);
      index -= deltaBytes;
      output = this.#number(index, outputBytes);
      index -= outputBytes;
      target = delta === 0 ? 0 : index + 1 - delta;
    }
    this.#checkTarget(target, address);
    return {
      isFinal: false,
      finalOutput: 0,
      count: 1,
      input: () => input,
      output: () => output,
      target: () => target,
    };
  }

  #many(address: number, state: number): Node {
    let slot = address - 1;
    let count = state & 0x3f;
    if (count === 0) {
      const stored = this.#byte(slot--);
      count = stored === 1 ? 256 : stored;
    }
    const sizes = this.#byte(slot--);
    const deltaBytes = sizes >>> 4;
    const outputBytes = sizes & 15;
    if (count > TABLE_FROM) slot -= 256;
    const inputs = slot;
    const deltas = inputs - count;
    const outputs = deltas - count * deltaBytes;
    const isFinal = (state & 0x40) !== 0;
    const last = outputs - count * outputBytes;
    const lowest = last - (isFinal ? outputBytes : 0);
    if (lowest + 1 < HEADER_BYTES) this.#fail("a node begins too early");
    return {
      isFinal,
      finalOutput: isFinal ? this.#number(last, outputBytes) : 0,
      count,
      input: (index) => this.#byte(inputs - index),
      output: (index) => this.#number(outputs - index * outputBytes, outputBytes),
      target: (index) => {
        const delta = this.#number(deltas - index * deltaBytes, deltaBytes);
        const target = delta === 0 ? 0 : lowest + 1 - delta;
        this.#checkTarget(target, address);
        return target;
      },
    };
  }

  #checkTarget(target: number, address: number): void {
    if (target < 0 || target >= address) this.#fail("a transition has no target");
  }

  #byte(offset: number): number {
    if (offset < HEADER_BYTES) this.#fail("a node begins too early");
    return this.bytes[offset];
  }

  /** Returns the number with its highest byte at `offset`. */
  #number(offset: number, byteLength: number): number {
    if (byteLength === 0) return 0;
    if (byteLength > 8 || offset - byteLength + 1 < HEADER_BYTES)
      this.#fail("a number lies outside of the file");
    let value = 0;
    for (let index = 0; index < byteLength; index++) value = value * 256 + this.bytes[offset - index];
    return value;
  }
}

const numberAt = (view: DataView, offset: number): number =>
  view.getUint32(offset, true) + view.getUint32(offset + 4, true) * 2 ** 32;
