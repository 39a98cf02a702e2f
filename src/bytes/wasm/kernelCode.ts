/**
 * Writes the code of a kernel, statement by statement, as a function with loops. Locals are declared by
 * destructuring:
 *
 *     const [count] = code.parameters();
 *     const [index, sum] = code.integers();
 *     code.doWhile(() => {
 *       sum.increase(index.load());
 *       index.increase(4);
 *     }, index.below(count));
 */

import {
  DoubleLocal,
  type Instructions,
  Integer,
  IntegerLocal,
  type IntegerOperand,
  unsigned,
  type Value,
  VectorLocal,
} from "./values.js";

const I32 = 0x7f;
const F64 = 0x7c;
const V128 = 0x7b;
const NOTHING = 0x40;

/** A block, which a jump leaves, or a loop, which a jump starts again. */
export interface Label {
  jump(): void;
  jumpWhen(condition: Integer): void;
}

export class KernelCode {
  readonly #statements: Instructions[] = [];
  /** Types of the parameters, then of the other locals. */
  readonly #types: number[] = [];
  #parameterCount = 0;
  /** Number of blocks and loops around the next statement. */
  #depth = 0;
  readonly #function = this.#label();

  /** The parameters, which are declared before all locals. */
  *parameters(): Generator<IntegerLocal, never> {
    for (;;) {
      this.#parameterCount++;
      yield new IntegerLocal(this.#declare(I32));
    }
  }
  *integers(): Generator<IntegerLocal, never> {
    for (;;) yield new IntegerLocal(this.#declare(I32));
  }
  *vectors(): Generator<VectorLocal, never> {
    for (;;) yield this.vector();
  }
  *doubles(): Generator<DoubleLocal, never> {
    for (;;) yield new DoubleLocal(this.#declare(F64));
  }
  vector(): VectorLocal {
    return new VectorLocal(this.#declare(V128));
  }

  block(body: (end: Label) => void): void {
    this.#nest([0x02, NOTHING], body);
  }
  loop(body: (start: Label) => void): void {
    this.#nest([0x03, NOTHING], body);
  }
  /** Runs the body once, and again while the condition holds. */
  doWhile(body: () => void, condition: Integer): void {
    this.loop((start) => {
      body();
      start.jumpWhen(condition);
    });
  }
  while(condition: Integer, body: () => void): void {
    this.loop((start) =>
      this.when(condition, () => {
        body();
        start.jump();
      }),
    );
  }
  /** Runs the body `count` times, at least once; `count` is 0 then. */
  repeat(count: IntegerLocal, body: () => void): void {
    this.doWhile(() => {
      body();
      count.decrease(1);
    }, count);
  }
  when(condition: Integer, body: () => void, otherwise: () => void = () => {}): void {
    this.#nest([condition.instructions, 0x04, NOTHING], () => {
      body();
      this.#emit(0x05);
      otherwise();
    });
  }
  return(): void {
    this.#function.jump();
  }
  returnWhen(condition: Integer): void {
    this.#function.jumpWhen(condition);
  }

  // Stores take any address, and add `offset` to it.

  store(address: IntegerOperand, value: Value | number, offset = 0): void {
    const stored = typeof value === "number" ? Integer.of(value) : value;
    this.#store(address, stored, stored.storing, offset);
  }
  store8(address: IntegerOperand, value: IntegerOperand, offset = 0): void {
    this.#store(address, Integer.of(value), 0x3a, offset);
  }
  store16(address: IntegerOperand, value: IntegerOperand, offset = 0): void {
    this.#store(address, Integer.of(value), 0x3b, offset);
  }

  /** The body of the function in its binary form: its locals, then its statements. */
  encode(): { readonly parameterCount: number; readonly body: Instructions } {
    const locals = this.#types.slice(this.#parameterCount);
    const runs: Instructions[] = [];
    for (let start = 0, end = 0; start < locals.length; start = end) {
      while (locals[end] === locals[start]) end++;
      runs.push([unsigned(end - start), locals[start]]);
    }
    const body = [unsigned(runs.length), runs, this.#statements, 0x0b];
    return { parameterCount: this.#parameterCount, body };
  }

  readonly #emit = (statement: Instructions): void => {
    this.#statements.push(statement);
  };

  #declare(type: number): { readonly index: number; emit(statement: Instructions): void } {
    return { index: this.#types.push(type) - 1, emit: this.#emit };
  }

  #store(address: IntegerOperand, value: Value, opcode: Instructions, offset: number): void {
    this.#emit([Integer.of(address).instructions, value.instructions, opcode, 0, unsigned(offset)]);
  }

  #nest(start: Instructions, body: (label: Label) => void): void {
    this.#emit(start);
    this.#depth++;
    body(this.#label());
    this.#depth--;
    this.#emit(0x0b);
  }

  /** A label of the block or loop around the next statement. */
  #label(): Label {
    const depth = this.#depth;
    const distance = () => unsigned(this.#depth - depth);
    return {
      jump: () => this.#emit([0x0c, distance()]),
      jumpWhen: ({ instructions }) => this.#emit([instructions, 0x0d, distance()]),
    };
  }
}
