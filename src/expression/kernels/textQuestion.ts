/**
 * Asks texts a question: whether they stand in some relation to a constant, or what they are made of. Texts that are
 * codes still are asked as codes (textAutomaton.ts); where the automaton can't tell, the text itself is looked at.
 */

import { takeCoded } from "../../arrow/columns/codedColumn.js";
import { type CodeSymbols, ESCAPE_CODE } from "../../arrow/columns/codedValues.js";
import type { Column, Validity } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { narrowOffsets } from "../values/operands.js";
import { FAULT, STATES, stepsOfSymbols, type TextAutomaton } from "./textAutomaton.js";
import { OF_BYTES, textKernelUse } from "./textKernel.js";

/** Tells whether a text of UTF-8 fits. */
export type Fits = (bytes: Uint8Array, start: number, end: number) => boolean;

/** Fewer texts are not worth the way into the memory of a kernel, or the steps of their symbols. */
const MIN_TEXTS = 1024;

/** What is asked of some texts, and their answers so far. */
interface Asked {
  readonly texts: Uint8Array;
  readonly offsets: Int32Array;
  readonly steps: Uint8Array;
  readonly isCoded: boolean;
  readonly yes: Uint8Array;
  /** Texts for which the automaton can't tell. */
  readonly open: Uint8Array;
}

export class TextQuestion {
  readonly #automaton: TextAutomaton;
  readonly #fits: Fits;
  readonly #ofSymbols = new WeakMap<CodeSymbols, Uint8Array>();
  #ofBytes: Uint8Array | null = null;

  /** @param fits the same question, asked of a text itself */
  constructor(automaton: TextAutomaton, fits: Fits) {
    this.#automaton = automaton;
    this.#fits = fits;
  }

  /**
   * A bit for each text that fits; those of nulls mean nothing.
   * @returns null where the texts are to be asked one by one
   */
  ask(column: Column, length: number, valid: Validity | null): Uint8Array | null {
    if (column.kind !== "variable" || length < MIN_TEXTS) return null;
    const { coded } = column;
    const offsets = coded?.offsets ?? column.offsets;
    if (!areNarrow(offsets)) return null;
    const asked: Asked = {
      texts: coded?.codes ?? column.bytes,
      offsets,
      steps: this.#steps(coded?.symbols ?? null),
      isCoded: coded !== undefined,
      yes: new Uint8Array((length + 7) >>> 3),
      open: new Uint8Array((length + 7) >>> 3),
    };
    const { yes, open } = asked;
    run(asked, this.#automaton, length);
    const rows = rowsOf(open, length, valid);
    if (rows.length === 0) return yes;
    const { bytes, offsets: starts } =
      coded === undefined ? { bytes: column.bytes, offsets } : takeCoded(coded, rows);
    const places = narrowOffsets(starts);
    for (const [index, row] of rows.entries()) {
      const place = coded === undefined ? row : index;
      if (this.#fits(bytes, places[place], places[place + 1])) yes[row >>> 3] |= 1 << (row & 7);
    }
    return yes;
  }

  #steps(symbols: CodeSymbols | null): Uint8Array {
    if (symbols === null) {
      this.#ofBytes ??= stepsOfSymbols(this.#automaton, null);
      return this.#ofBytes;
    }
    let steps = this.#ofSymbols.get(symbols);
    if (steps === undefined) {
      steps = stepsOfSymbols(this.#automaton, symbols);
      this.#ofSymbols.set(symbols, steps);
    }
    return steps;
  }
}

function run(asked: Asked, automaton: TextAutomaton, length: number): void {
  const { texts, offsets, steps, isCoded, yes, open } = asked;
  const kernel = textKernelUse.get();
  const completing = kernel === null ? null : completingCodes(steps, automaton, isCoded);
  kernel?.setSteps(steps, automaton.accepts, automaton.isOpen, completing);
  const base = isCoded ? 0 : STATES * OF_BYTES;
  const escaping = isCoded ? ESCAPE_CODE : -1;
  for (let first = 0; first < length; ) {
    const count =
      kernel?.run(texts, offsets, first, length, base, escaping, automaton.firstFinal, yes, open) ?? 0;
    first += count;
    if (count > 0) continue;
    const end = kernel === null ? length : Math.min(length, first + 8);
    runPlainly(asked, automaton, first, end);
    first = end;
  }
}

/** Where more codes than this complete what is asked for, most texts have one of them. */
const MAX_COMPLETING = 64;

/** The codes, or bytes, behind which a text may be one of those asked for; null where it may be without, and for many. */
function completingCodes(
  steps: Uint8Array,
  { accepts, isOpen, firstFinal }: TextAutomaton,
  isCoded: boolean,
): number[] | null {
  const isOfInterest = (state: number) => accepts[state] || isOpen[state];
  for (let state = 0; state < firstFinal; state++) if (isOfInterest(state)) return null;
  const found = isCoded ? [ESCAPE_CODE] : [];
  for (let code = 0; code < OF_BYTES; code++) {
    const at = STATES * (isCoded ? code : code + OF_BYTES);
    for (let state = 0; state < firstFinal; state++) {
      if (!isOfInterest(steps[at + state])) continue;
      found.push(code);
      break;
    }
  }
  return found.length > MAX_COMPLETING ? null : found;
}

/** The kernel's loop, for texts that are too long for its memory, and where there is none. */
function runPlainly(
  { texts, offsets, steps, isCoded, yes, open }: Asked,
  { accepts, isOpen, firstFinal }: TextAutomaton,
  first: number,
  end: number,
): void {
  for (let row = first; row < end; row++) {
    let state = 0;
    for (let at = offsets[row]; at < offsets[row + 1] && state < firstFinal; at++) {
      let code = texts[at];
      if (!isCoded) code += OF_BYTES;
      else if (code === ESCAPE_CODE) code = ++at < offsets[row + 1] ? texts[at] + OF_BYTES : -1;
      state = code < 0 ? FAULT : steps[STATES * code + state];
    }
    if (accepts[state]) yes[row >>> 3] |= 1 << (row & 7);
    if (isOpen[state] || state === FAULT) open[row >>> 3] |= 1 << (row & 7);
  }
}

/** The texts whose bits are set, without nulls. */
function rowsOf(bits: Uint8Array, length: number, valid: Validity | null): Uint32Array {
  const rows: number[] = [];
  for (let byte = 0; byte < bits.length; byte++) {
    if (bits[byte] === 0) continue;
    for (let row = 8 * byte; row < Math.min(length, 8 * byte + 8); row++) {
      if ((bits[byte] >>> (row & 7)) & 1 && (valid === null || isSet(valid, row))) rows.push(row);
    }
  }
  return Uint32Array.from(rows);
}
