/**
 * Rows in JSON: an array of objects, or one object a line. Rows are parsed one by one while the body arrives,
 * and passed on in groups. Memory holds one group at a time.
 *
 * The splitter finds where rows end; JSON.parse decides what is JSON.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { messageOf } from "../../errors.js";
import type { MemoryShare } from "../../memory.js";
import type { RowObject } from "../../namespace/request.js";
import { Refusal } from "../wire/problem.js";
import { MAX_JSON_COMMAS, MAX_JSON_DEPTH, MAX_JSON_NODES } from "./body.js";

export interface JsonRowBounds {
  /** True if each line is a row. False if the body is an array. */
  readonly isLines: boolean;
  /** Maximum bytes of a row, and of a group of several rows. */
  readonly maxRowBytes: number;
  /** Maximum members of a row, without those of nested objects. */
  readonly maxMembers: number;
  readonly memory: MemoryShare;
}

/** Maximum rows of a group. The engine decides by the first group which columns the rows have. */
const GROUP_ROWS = 8192;
/** Bytes decoded and parsed between two turns of the event loop. */
const SLICE_BYTES = 2 ** 16;
/** Name of the memory use. */
const ROWS_USE = "rows";
/** Approximate maximum bytes in memory of a character, of an object or array, and of one of their items. */
const CHARACTER_BYTES = 2;
const NODE_BYTES = 64;
const ITEM_BYTES = 16;

/**
 * Yields the rows in groups. The first group may be empty: it tells the engine that the rows are objects.
 * @throws Refusal naming the row that is not JSON, or exceeds a bound
 */
export async function* readJsonRows(
  pieces: AsyncIterable<Uint8Array>,
  bounds: JsonRowBounds,
): AsyncGenerator<readonly RowObject[]> {
  const { memory } = bounds;
  const splitter = new RowSplitter(bounds);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  yield [];
  for await (const piece of pieces) {
    for (let start = 0; start < piece.length; start += SLICE_BYTES) {
      await yieldToEventLoop();
      splitter.push(decode(decoder, piece.subarray(start, start + SLICE_BYTES)));
      const room = memory.hold(ROWS_USE, splitter.heldBytes);
      if (room !== undefined) await room;
      if (!splitter.isGroupFull) continue;
      yield splitter.takeGroup();
      memory.note(ROWS_USE, splitter.heldBytes);
    }
  }
  splitter.push(decode(decoder, undefined));
  splitter.end();
  yield splitter.takeGroup();
  memory.note(ROWS_USE, 0);
}

/** @param bytes undefined at the end of the body */
function decode(decoder: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch {
    throw malformed("the body is not UTF-8");
  }
}

const malformed = (detail: string): Refusal => new Refusal(400, "InvalidInput", detail);
const tooLarge = (detail: string): Refusal => new Refusal(413, "InvalidInput", detail);

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const NEWLINE = 0x0a;

/** Splits text into rows. */
class RowSplitter {
  readonly #isLines: boolean;
  readonly #maxRowBytes: number;
  readonly #maxMembers: number;
  /** Next part of the body. Lines have rows only. */
  #expected: "array" | "row or end" | "row" | "nothing";
  /** Text of the unfinished row. */
  #parts: string[] = [];
  #characters = 0;
  #depth = 0;
  #nodes = 0;
  #members = 0;
  #commas = 0;
  #isText = false;
  #isEscaped = false;
  #group: RowObject[] = [];
  #groupBytes = 0;
  #groupCharacters = 0;
  /** Rows so far; for lines, lines. */
  #count = 0;

  constructor({ isLines, maxRowBytes, maxMembers }: JsonRowBounds) {
    this.#isLines = isLines;
    this.#maxRowBytes = maxRowBytes;
    this.#maxMembers = maxMembers;
    this.#expected = isLines ? "row" : "array";
  }

  /** Approximate bytes of the group and the unfinished row. */
  get heldBytes(): number {
    return this.#groupBytes + this.#rowBytes;
  }

  get #rowBytes(): number {
    return (
      CHARACTER_BYTES * this.#characters +
      NODE_BYTES * this.#nodes +
      ITEM_BYTES * (this.#commas + this.#nodes)
    );
  }

  get isGroupFull(): boolean {
    return this.#group.length >= GROUP_ROWS || this.#groupCharacters >= this.#maxRowBytes;
  }

  takeGroup(): RowObject[] {
    const group = this.#group;
    this.#group = [];
    this.#groupBytes = 0;
    this.#groupCharacters = 0;
    return group;
  }

  push(text: string): void {
    let start = 0;
    let index = 0;
    while (index < text.length) {
      if (this.#expected !== "row") {
        index = start = this.#between(text, index);
        continue;
      }
      const end = this.#endOfRow(text, index);
      if (end === null) break;
      this.#add(text.slice(start, end));
      const code = text.charCodeAt(end);
      if (code === CLOSING_BRACE) throw malformed(`${this.#name}: has a brace that nothing opened`);
      this.#finishRow();
      if (code === CLOSING_BRACKET) this.#expected = "nothing";
      index = start = end + 1;
    }
    if (this.#expected === "row") this.#add(text.slice(start));
  }

  /** @throws Refusal if the body is incomplete */
  end(): void {
    if (this.#isLines) this.#finishRow();
    else if (this.#expected !== "nothing") {
      throw malformed(
        this.#expected === "array" ? NO_ARRAY : `the array ends within or after row ${this.#count}`,
      );
    }
  }

  /** Passes over what stands before the first row and after the last one of an array. */
  #between(text: string, index: number): number {
    const code = text.charCodeAt(index);
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return index + 1;
    switch (this.#expected) {
      case "array":
        if (code !== OPENING_BRACKET) throw malformed(NO_ARRAY);
        this.#expected = "row or end";
        return index + 1;
      case "row or end":
        this.#expected = code === CLOSING_BRACKET ? "nothing" : "row";
        return code === CLOSING_BRACKET ? index + 1 : index;
      default:
        throw malformed("the body has more than one array");
    }
  }

  /** Returns the index of the character that ends the row; null if the row goes on after the text. */
  #endOfRow(text: string, from: number): number | null {
    for (let index = from; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code === NEWLINE && this.#isLines) return index;
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#isText = false;
      } else if (code === QUOTE) this.#isText = true;
      else if (code === COMMA) {
        if (this.#depth === 0 && !this.#isLines) return index;
        this.#commas++;
      } else if (code === COLON) {
        if (this.#depth === 1) this.#members++;
      } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
        this.#nodes++;
        if (++this.#depth > MAX_JSON_DEPTH) {
          throw malformed(`${this.#name}: is nested deeper than ${MAX_JSON_DEPTH} levels`);
        }
      } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
        if (this.#depth === 0 && !this.#isLines) return index;
        this.#depth--;
      }
    }
    return null;
  }

  #add(text: string): void {
    this.#characters += text.length;
    if (this.#characters > this.#maxRowBytes) {
      throw tooLarge(`${this.#name}: has more than ${this.#maxRowBytes} bytes`);
    }
    if (text !== "") this.#parts.push(text);
  }

  #finishRow(): void {
    const text = this.#parts.length === 1 ? this.#parts[0] : this.#parts.join("");
    const isBlank = this.#isLines && text.trim() === "";
    if (!isBlank) {
      this.#refuseMore(this.#nodes, MAX_JSON_NODES, "objects and arrays");
      this.#refuseMore(this.#commas, MAX_JSON_COMMAS, "commas");
      this.#refuseMore(this.#members, this.#maxMembers, "members");
      this.#group.push(this.#parse(text));
      this.#groupBytes += this.#rowBytes;
      this.#groupCharacters += this.#characters;
    }
    this.#count++;
    this.#parts = [];
    this.#characters = this.#depth = this.#nodes = this.#members = this.#commas = 0;
    this.#isText = this.#isEscaped = false;
  }

  #refuseMore(count: number, maximum: number, what: string): void {
    if (count > maximum) throw tooLarge(`${this.#name}: has more than ${maximum} ${what}`);
  }

  /** The engine refuses rows that are not objects. */
  #parse(text: string): RowObject {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw malformed(`${this.#name}: is not JSON: ${messageOf(error).slice(0, 200)}`);
    }
  }

  /** Name of the unfinished row. Rows count from 0, as in the engine's errors; lines count from 1. */
  get #name(): string {
    return this.#isLines ? `line ${this.#count + 1}` : `row ${this.#count}`;
  }
}

const NO_ARRAY = "the body must be a JSON array of objects, one for each row";
