/**
 * Questions about texts as automata over bytes, of so few states that the step from each of them fits into 16
 * bytes: what a byte does to all states at once is one instruction of a kernel, and so is what a symbol of
 * several bytes does, which FSST puts in the place of a code. Texts are then asked without being decoded.
 *
 * A question that takes more states is asked of a part of its text, and is open for texts that pass.
 */

import { type CodeSymbols, ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import type { NumberRelation } from "./compareNumber.js";

export const STATES = 16;
/** What was read means nothing. */
export const FAULT = STATES - 1;
/** States that are left again, at most: there are at most three others, and the fault. */
const WALKING = 12;
const BYTES = 256;

export interface TextAutomaton {
  /** The state to which a byte leads: `steps[256 * state + byte]`. The first state is 0. */
  readonly steps: Uint8Array;
  /** From this one on, states are not left again. */
  readonly firstFinal: number;
  /** By state, whether a text that ends there is one of those asked for. */
  readonly accepts: readonly boolean[];
  /** By state, whether only the text itself can tell. */
  readonly isOpen: readonly boolean[];
}

/** Steps that do not end are added one after the other, and finals after them. */
class Builder {
  readonly #steps: Uint8Array[] = [];
  readonly accepts: boolean[] = [];
  readonly isOpen: boolean[] = [];

  add(accepts: boolean, isOpen = false): Uint8Array {
    const steps = new Uint8Array(BYTES);
    this.#steps.push(steps);
    this.accepts.push(accepts);
    this.isOpen.push(isOpen);
    return steps;
  }

  /** @param finals for each whether it accepts; null for one that is open */
  finish(finals: readonly (boolean | null)[]): TextAutomaton {
    const firstFinal = this.#steps.length;
    for (const accepts of finals) this.add(accepts === true, accepts === null).fill(this.#steps.length - 1);
    const steps = new Uint8Array(STATES * BYTES).fill(FAULT);
    for (const [state, stateSteps] of this.#steps.entries()) steps.set(stateSteps, state * BYTES);
    const { accepts, isOpen } = this;
    return { steps, firstFinal, accepts, isOpen };
  }
}

/** Texts that stand so to another one, byte by byte. */
export function relationAutomaton(relation: NumberRelation, text: Uint8Array): TextAutomaton {
  const length = Math.min(text.length, WALKING - 1);
  const isWhole = length === text.length;
  const builder = new Builder();
  const walking = isWhole ? length + 1 : length;
  const [less, more, open] = [walking, walking + 1, walking + 2];
  for (let offset = 0; offset < length; offset++) {
    const steps = builder.add(relation !== "equal");
    steps.fill(less, 0, text[offset]);
    steps[text[offset]] = offset + 1 < length || isWhole ? offset + 1 : open;
    steps.fill(more, text[offset] + 1);
  }
  if (isWhole) builder.add(relation !== "less").fill(more);
  return builder.finish([relation !== "equal", false, null]);
}

/** What a text is made of: pieces in this order, with anything between them. */
export interface TextPieces {
  /** None is empty. */
  readonly pieces: readonly Uint8Array[];
  /** Whether the first piece is where the text begins. */
  readonly isFromStart: boolean;
  /** Whether the last piece is where the text ends. It is not the one with which it begins. */
  readonly isToEnd: boolean;
}

/** Texts that are made of some pieces. */
export function piecesAutomaton({ pieces, isFromStart, isToEnd }: TextPieces): TextAutomaton {
  const builder = new Builder();
  const stages: Stage[] = [];
  let room = WALKING;
  let isCut = false;
  for (const [index, piece] of pieces.entries()) {
    const isEnd = isToEnd && index === pieces.length - 1;
    const length = Math.min(piece.length, room - (isEnd ? 1 : 0));
    isCut = length < piece.length;
    if (length <= 0) break;
    // A text that ends with a piece ends with its end.
    const part = isEnd ? piece.subarray(piece.length - length) : piece.subarray(0, length);
    stages.push({ part, isFixed: isFromStart && index === 0, isEnd });
    room -= length + (isEnd ? 1 : 0);
    if (isCut) break;
  }
  const walking = WALKING - room;
  const [all, none] = [walking, walking + 1];
  let first = 0;
  for (const { part, isFixed, isEnd } of stages) {
    const end = first + part.length;
    const isLast = end === walking;
    const goesOn = addStage(builder, part, first, isFixed ? none : first, isLast ? all : end);
    if (isEnd) builder.add(!isCut, isCut).set(goesOn);
    first = end;
  }
  return builder.finish([isCut ? null : true, false]);
}

interface Stage {
  readonly part: Uint8Array;
  readonly isFixed: boolean;
  readonly isEnd: boolean;
}

/**
 * Adds states for a part of a text that is looked for, which stand for as many bytes of it as have been seen.
 * @param first number of the first of the states
 * @param miss where it leads that no byte of the part is seen: the first state, or one that is not left again
 * @param whole where the whole part leads
 * @returns the steps from a state behind the whole part
 */
function addStage(
  builder: Builder,
  part: Uint8Array,
  first: number,
  miss: number,
  whole: number,
): Uint8Array {
  const tables: Uint8Array[] = [];
  // What has been seen of the part behind its first byte: where it goes on once the part itself does not.
  let again: Uint8Array = new Uint8Array(BYTES).fill(miss);
  for (const [index, byte] of part.entries()) {
    const steps = builder.add(false);
    steps.set(again);
    tables.push(steps);
    const seen = miss === first && index > 0 ? again[byte] - first : 0;
    steps[byte] = index + 1 === part.length ? whole : first + index + 1;
    if (miss === first) again = tables[seen];
  }
  return again;
}
/**
 * What codes, and behind them bytes, do to each state: `steps[16 * code + state]`, `steps[16 * (256 + byte) +
 * state]`.
 */
export function stepsOfSymbols(automaton: TextAutomaton, symbols: CodeSymbols | null): Uint8Array {
  const { steps } = automaton;
  const table = new Uint8Array(2 * BYTES * STATES).fill(FAULT);
  for (let byte = 0; byte < BYTES; byte++) {
    for (let state = 0; state < STATES; state++) {
      table[STATES * (BYTES + byte) + state] = steps[BYTES * state + byte];
    }
  }
  if (symbols === null) return table;
  const { count, low, high, lengths } = symbols;
  for (let code = 0; code < Math.min(count, ESCAPE_CODE); code++) {
    for (let state = 0; state < STATES; state++) {
      let reached = state;
      for (let index = 0; index < lengths[code]; index++) {
        const byte = ((index < 4 ? low[code] >>> (8 * index) : high[code] >>> (8 * index - 32)) & 0xff) >>> 0;
        reached = steps[BYTES * reached + byte];
      }
      table[STATES * code + state] = reached;
    }
  }
  return table;
}
