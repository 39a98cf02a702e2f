/**
 * Questions about texts: their relation to a constant, or the pieces they have. Coded texts are not decoded
 * (textAutomaton.ts). If the automaton cannot decide, the text itself is tested.
 */

import type { Column, Validity, VariableColumn } from "../../arrow/columns/column.js";
import { codesIn, takeCoded } from "../../arrow/columns/lazyColumn.js";
import type { ChunkedTexts } from "../../arrow/columns/lazyValues.js";
import { type CodeSymbols, ESCAPE_CODE } from "../../arrow/columns/lazyValues.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { isSet } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { narrowOffsets } from "../values/operands.js";
import { FAULT, STATES, stepsOfSymbols, type TextAutomaton } from "./textAutomaton.js";
import {
  type CompletingCodes,
  type KernelSteps,
  OF_BYTES,
  type TextAnswers,
  textKernelUse,
} from "./textKernel.js";

/** Tests if a UTF-8 text fits. */
export interface TextTest {
  /** True if the text fits; null if the test must run in steps. */
  fits(bytes: Uint8Array, start: number, end: number): boolean | null;
  inSteps(bytes: Uint8Array, start: number, end: number): Steps<boolean>;
}

/** For fewer texts, copying them and computing the steps of symbols costs more than it saves. */
const MIN_TEXTS = 1024;

/** Texts one after another, or their codes. */
interface AskedTexts {
  readonly texts: Uint8Array;
  readonly offsets: Int32Array;
}

export class TextQuestion {
  readonly #automaton: TextAutomaton;
  readonly #test: TextTest;
  readonly #ofSymbols = new WeakMap<CodeSymbols, KernelSteps>();
  #ofBytes: KernelSteps | null = null;

  /** @param test the same question for a text itself */
  constructor(automaton: TextAutomaton, test: TextTest) {
    this.#automaton = automaton;
    this.#test = test;
  }

  /**
   * Returns a bit for each text that fits, arbitrary for nulls.
   * @returns null if the texts must be tested one by one
   */
  *ask(column: Column, length: number, valid: Validity | null): Steps<Uint8Array | null> {
    if (column.kind !== "variable" || length < MIN_TEXTS) return null;
    const bytes = (length + 7) >>> 3;
    const answers = { yes: new Uint8Array(bytes), open: new Uint8Array(bytes) };
    const { lazy } = column;
    const isAsked =
      lazy?.kind === "chunks" && column.length === length && (yield* this.#askChunks(lazy, answers));
    if (!isAsked && !(yield* this.#askGathered(column, length, answers))) return null;
    yield* this.#askOpen(column, rowsOf(answers.open, length, valid), answers.yes);
    return answers.yes;
  }

  /** Asks texts in their chunks. Returns false if a chunk does not fit. */
  *#askChunks(texts: ChunkedTexts, answers: TextAnswers): Steps<boolean> {
    const kernel = textKernelUse.get();
    const { chunks, counts } = texts;
    if (kernel === null || !chunks.every((chunk, index) => kernel.fits(chunk, counts[index]))) return false;
    for (let index = 0; index < counts.length - 1; index++) if ((counts[index] & 7) !== 0) return false;
    const steps = this.#steps(texts.symbols);
    kernel.setSteps(steps);
    const pace = new Pace(STEP_BYTES);
    let first = 0;
    for (const [index, chunk] of chunks.entries()) {
      if (pace.isStep(chunk.length)) {
        yield;
        // The kernel may have served other questions in between.
        kernel.setSteps(steps);
      }
      // The code that decodes these chunks reports the error in their positions.
      if (!kernel.runChunk(chunk, counts[index], first, answers)) return false;
      first += counts[index];
    }
    return true;
  }

  *#askGathered(column: VariableColumn, length: number, answers: TextAnswers): Steps<boolean> {
    const coded = codesIn(column);
    const offsets = coded?.offsets ?? column.offsets;
    if (!areNarrow(offsets)) return false;
    const asked = { texts: coded?.codes ?? column.bytes, offsets };
    yield* askAll(asked, this.#steps(coded?.symbols ?? null), length, answers);
    return true;
  }

  /** Tests the texts for which the automaton cannot decide. */
  *#askOpen(column: VariableColumn, rows: Uint32Array, yes: Uint8Array): Steps<void> {
    if (rows.length === 0) return;
    const coded = codesIn(column);
    const { bytes, offsets } = coded === null ? column : takeCoded(coded, rows);
    const positions = narrowOffsets(offsets);
    const pace = new Pace(STEP_BYTES);
    for (const [index, row] of rows.entries()) {
      const position = coded === null ? row : index;
      const [start, end] = [positions[position], positions[position + 1]];
      const isFit = this.#test.fits(bytes, start, end) ?? (yield* this.#test.inSteps(bytes, start, end));
      if (isFit) yes[row >>> 3] |= 1 << (row & 7);
      if (pace.isStep(OPEN_WORK + end - start)) yield;
    }
  }

  #steps(symbols: CodeSymbols | null): KernelSteps {
    if (symbols === null) {
      this.#ofBytes ??= kernelSteps(this.#automaton, null);
      return this.#ofBytes;
    }
    let steps = this.#ofSymbols.get(symbols);
    if (steps === undefined) {
      steps = kernelSteps(this.#automaton, symbols);
      this.#ofSymbols.set(symbols, steps);
    }
    return steps;
  }
}

function kernelSteps(automaton: TextAutomaton, symbols: CodeSymbols | null): KernelSteps {
  const steps = stepsOfSymbols(automaton, symbols);
  const isCoded = symbols !== null;
  return { steps, automaton, isCoded, completing: completingCodes(steps, automaton, isCoded) };
}

function* askAll(asked: AskedTexts, steps: KernelSteps, length: number, answers: TextAnswers): Steps<void> {
  const { texts, offsets } = asked;
  const kernel = textKernelUse.get();
  kernel?.setSteps(steps);
  const pace = new Pace(STEP_BYTES);
  for (let first = 0; first < length; ) {
    const count = kernel?.run(texts, offsets, first, length, answers) ?? 0;
    let end = first + count;
    if (count === 0) {
      end = kernel === null ? length : Math.min(length, first + 8);
      yield* askPlainly(asked, steps, first, end, answers);
      kernel?.setSteps(steps);
    } else if (pace.isStep(offsets[end] - offsets[first])) {
      yield;
      // The kernel may have served other questions in between.
      kernel?.setSteps(steps);
    }
    first = end;
  }
}

const STEP_BYTES = 2 ** 20;
/** Work of testing a text, besides its bytes. */
const OPEN_WORK = 64;
const STEP_CODES = 2 ** 18;

/** Maximum number of completing codes: if there are more, most texts have one of them. */
const MAX_COMPLETING = 64;

/** Returns the codes without which no text fits; null if a text without any may fit, or for many. */
function completingCodes(
  steps: Uint8Array,
  { accepts, isOpen, firstFinal }: TextAutomaton,
  isCoded: boolean,
): CompletingCodes | null {
  const isOfInterest = (state: number) => accepts[state] || isOpen[state];
  for (let state = 0; state < firstFinal; state++) if (isOfInterest(state)) return null;
  const codes = Array.from({ length: OF_BYTES }, (_, code) => STATES * (isCoded ? code : code + OF_BYTES));
  const walked = Array.from({ length: firstFinal }, (_, state) => state);
  const completes = (offset: number, state: number) => isOfInterest(steps[offset + state]);
  const placesOf = (fits: (index: number) => boolean) =>
    codes.flatMap((index, code) => (fits(index) ? [code] : []));
  const alone = placesOf((index) => completes(index, 0));
  // The byte after an escape is not a code.
  if (isCoded) alone.push(ESCAPE_CODE);
  const behind = placesOf((index) => walked.some((state) => state > 0 && completes(index, state)));
  const before = walked.filter((state) => state > 0 && codes.some((index) => completes(index, state)));
  const leading = placesOf((offset) => walked.some((state) => before.includes(steps[offset + state])));
  const isRare = Math.min(behind.length, leading.length) <= MAX_COMPLETING;
  return alone.length <= MAX_COMPLETING && isRare ? { alone, behind, leading } : null;
}

/** The kernel's loop, for texts that are too long for its memory, and for runtimes without kernels. */
function* askPlainly(
  { texts, offsets }: AskedTexts,
  { steps, automaton: { accepts, isOpen, firstFinal }, isCoded }: KernelSteps,
  first: number,
  end: number,
  { yes, open }: TextAnswers,
): Steps<void> {
  const pace = new Pace(STEP_CODES);
  for (let row = first; row < end; row++) {
    let state = 0;
    if (pace.isStep()) yield;
    for (let offset = offsets[row]; offset < offsets[row + 1] && state < firstFinal; offset++) {
      let code = texts[offset];
      if (!isCoded) code += OF_BYTES;
      else if (code === ESCAPE_CODE) code = ++offset < offsets[row + 1] ? texts[offset] + OF_BYTES : -1;
      state = code < 0 ? FAULT : steps[STATES * code + state];
      if (pace.isStep()) yield;
    }
    if (accepts[state]) yes[row >>> 3] |= 1 << (row & 7);
    if (isOpen[state] || state === FAULT) open[row >>> 3] |= 1 << (row & 7);
  }
}

/** Returns the texts whose bits are set, without nulls. */
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
