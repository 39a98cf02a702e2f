/**
 * Questions about texts as automata over bytes. They have so few states that the steps from all states fit
 * into 16 bytes. One instruction of a kernel then takes the step of a byte from all states at once, or of an
 * FSST symbol of several bytes. So coded texts are not decoded.
 *
 * If a question needs more states, the automaton tests only a part of it. Texts that pass are open: the text
 * itself must be tested.
 */

import { type CodeSymbols, ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import type { NumberRelation } from "./compareNumber.js";

export const STATES = 16;
/** The state after codes that stand for no text. */
export const FAULT = STATES - 1;
/** Maximum number of states that can be left: there are at most three others, and the fault. */
const WALKING = 12;
const BYTES = 256;

export interface TextAutomaton {
  /** The next state after a byte: `steps[256 * state + byte]`. The first state is 0. */
  readonly steps: Uint8Array;
  /** First of the final states, which no byte leaves. */
  readonly firstFinal: number;
  /** True for each state in which the automaton accepts a text that ends there. */
  readonly accepts: readonly boolean[];
  /** True for each state in which only the text itself can decide. */
  readonly isOpen: readonly boolean[];
}

/** Collects the steps of states: first those of states that can be left, then those of final states. */
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

  /** @param finals for each final state true if it accepts, null if it is open */
  finish(finals: readonly (boolean | null)[]): TextAutomaton {
    const firstFinal = this.#steps.length;
    for (const accepts of finals) this.add(accepts === true, accepts === null).fill(this.#steps.length - 1);
    const steps = new Uint8Array(STATES * BYTES).fill(FAULT);
    for (const [state, stateSteps] of this.#steps.entries()) steps.set(stateSteps, state * BYTES);
    const { accepts, isOpen } = this;
    return { steps, firstFinal, accepts, isOpen };
  }
}

/** Accepts texts with a relation to another one, byte by byte. */
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

/** Pieces that a text has in this order, with anything between them. */
export interface TextPieces {
  readonly pieces: readonly Uint8Array[];
  /** True if the first piece begins the text. */
  readonly isFromStart: boolean;
  /** True if the last piece ends the text. It is not the piece that begins the text. */
  readonly isToEnd: boolean;
}

/** Accepts texts of these pieces. */
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
    // A text that ends with a piece ends with the end of the piece.
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
 * Adds states for a part of a text to search for. Each state says how many bytes of the part have matched.
 * @param first index of the first of the states
 * @param miss state after a byte that begins no match: the first state, or a final one
 * @param whole state after the whole part
 * @returns the steps from a state after the whole part
 */
function addStage(
  builder: Builder,
  part: Uint8Array,
  first: number,
  miss: number,
  whole: number,
): Uint8Array {
  const tables: Uint8Array[] = [];
  // Steps after a mismatch: those of the state for the matched bytes without the first.
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
/** Computes steps of codes, `steps[16 * code + state]`, and bytes, `steps[16 * (256 + byte) + state]`. */
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
