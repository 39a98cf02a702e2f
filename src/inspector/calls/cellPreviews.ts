/** Values as cells of the grid show them: bounded in size, and of types that JSON has. */

import { isDate, isMapObject, isUint8Array } from "../../bytes/anyRealm.js";
import type { CellPreview } from "./answers.js";

/** Characters of a text that a cell gets. */
const TEXT_CHARACTERS = 240;
/** Points of a sparkline. */
const POINTS = 48;
const HEX_BYTES = 16;
/** Bounds of nested values: items of a list, members of a struct, and depth. */
const ITEMS = 24;
const DEPTH = 8;
/** Characters of a nested value. */
const NESTED_CHARACTERS = 240;

/** First bytes of the image formats that browsers decode without running anything. */
const MEDIA: readonly (readonly [media: string, pattern: RegExp])[] = [
  ["image/png", /^89504e470d0a1a0a/],
  ["image/jpeg", /^ffd8ff/],
  ["image/gif", /^47494638/],
  ["image/webp", /^52494646.{8}57454250/],
  ["image/bmp", /^424d.{12}0000/],
  ["image/avif", /^.{8}6674797061766966/],
];

/** Returns the preview of a value that the engine gave as part of an object. */
export function previewOf(value: unknown): CellPreview {
  switch (typeof value) {
    case "string":
      return previewOfText(value);
    case "number":
      return Number.isFinite(value) ? value : { kind: "number", text: String(value) };
    case "boolean":
      return value;
    case "bigint":
      return value.toString();
    case "object":
      break;
    default:
      return null;
  }
  if (value === null) return null;
  if (isUint8Array(value)) return previewOfBytes(value, value.length);
  if (ArrayBuffer.isView(value)) return previewOfVector(value as unknown as ArrayLike<number | bigint>);
  if (isDate(value)) return value.toISOString();
  const writer = new NestedWriter(NESTED_CHARACTERS);
  writer.write(value, 0);
  return { kind: "nested", text: writer.text, isCut: writer.isCut };
}

/** Returns the preview of bytes. `head` is their beginning. */
export function previewOfBytes(head: Uint8Array, size: number): CellPreview {
  const hex = hexOf(head.subarray(0, HEX_BYTES));
  return { kind: "bytes", size, media: mediaOf(hex), hex };
}

/** Returns the media type of an image by its first bytes. Null: the bytes are no image that is shown. */
export const imageType = (bytes: Uint8Array): string | null => mediaOf(hexOf(bytes.subarray(0, HEX_BYTES)));

const mediaOf = (hex: string): string | null => MEDIA.find(([, pattern]) => pattern.test(hex))?.[0] ?? null;

const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function previewOfText(text: string): CellPreview {
  if (text.length <= TEXT_CHARACTERS) return wellFormed(text);
  return { kind: "text", text: wellFormed(text.slice(0, TEXT_CHARACTERS)), length: text.length };
}

/** Replaces halves of surrogate pairs, which a cut may leave. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd");

function previewOfVector(values: ArrayLike<number | bigint>): CellPreview {
  const count = Math.min(POINTS, values.length);
  const points = Array.from({ length: count }, (_, index) => {
    const value = Number(values[Math.floor((index * values.length) / count)]);
    return Number.isFinite(value) ? Number(value.toPrecision(4)) : 0;
  });
  return { kind: "vector", length: values.length, points };
}

/** Writes a value as JSON up to a number of characters. Stops there, however much of the value is left. */
export class NestedWriter {
  text = "";
  isCut = false;

  constructor(
    private readonly maxCharacters: number,
    private readonly maxItems = ITEMS,
  ) {}

  write(value: unknown, depth: number): void {
    if (this.text.length >= this.maxCharacters || depth > DEPTH) {
      this.#cut();
    } else if (isMapObject(value)) {
      const entries = [...value].map(([key, item]): [string, unknown] => [String(key), item]);
      this.#writeMembers(entries, depth);
    } else if (isUint8Array(value)) {
      this.#append(
        JSON.stringify(hexOf(value.subarray(0, HEX_BYTES)) + (value.length > HEX_BYTES ? "…" : "")),
      );
    } else if (Array.isArray(value) || ArrayBuffer.isView(value)) {
      this.#writeItems(value as unknown as ArrayLike<unknown>, depth);
    } else if (isDate(value)) {
      this.#append(JSON.stringify(value.toISOString()));
    } else if (typeof value === "object" && value !== null) {
      this.#writeMembers(Object.entries(value), depth);
    } else if (typeof value === "string") {
      this.#append(JSON.stringify(value.slice(0, this.maxCharacters)));
    } else if (typeof value === "number" || typeof value === "bigint") {
      this.#append(String(value));
    } else {
      this.#append(JSON.stringify(value ?? null));
    }
  }

  #writeItems(items: ArrayLike<unknown>, depth: number): void {
    this.#append("[");
    for (let index = 0; index < items.length; index++) {
      if (index > 0) this.#append(", ");
      if (index >= this.maxItems || this.isCut) {
        this.#cut();
        return;
      }
      this.write(items[index], depth + 1);
    }
    this.#append("]");
  }

  #writeMembers(members: readonly (readonly [string, unknown])[], depth: number): void {
    this.#append("{");
    for (const [index, [name, value]] of members.entries()) {
      if (index > 0) this.#append(", ");
      if (index >= this.maxItems || this.isCut) {
        this.#cut();
        return;
      }
      this.#append(`${JSON.stringify(name)}: `);
      this.write(value, depth + 1);
    }
    this.#append("}");
  }

  #append(piece: string): void {
    if (this.isCut) return;
    this.text += piece;
    if (this.text.length <= this.maxCharacters) return;
    this.text = wellFormed(this.text.slice(0, this.maxCharacters));
    this.#cut();
  }

  #cut(): void {
    if (!this.isCut) this.text += "…";
    this.isCut = true;
  }
}
