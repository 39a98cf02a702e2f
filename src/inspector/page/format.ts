/** Numbers, sizes, times and types as people read them. */

import type { JsonField, JsonType } from "../../namespace/tables.ts";

const counts = new Intl.NumberFormat("en");

export const formatCount = (count: number): string => counts.format(count);

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[power - 1]}`;
}

export function formatMs(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Returns a moment in UTC. */
export function formatTime(millis: number): string {
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return "unknown time";
  return date
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const weekday = new Intl.DateTimeFormat("en-GB", { dateStyle: "full" });

/** Returns the time of day where the user is. */
export const formatClock = (millis: number): string =>
  Number.isNaN(new Date(millis).getTime()) ? "unknown time" : clock.format(millis);

/** Returns the day where the user is, such as "Yesterday, Friday 27 November 2026". */
export function formatDay(millis: number): string {
  if (Number.isNaN(new Date(millis).getTime())) return "Unknown day";
  const day = weekday.format(millis);
  const now = new Date();
  if (day === weekday.format(now)) return `Today, ${day}`;
  now.setDate(now.getDate() - 1);
  return day === weekday.format(now) ? `Yesterday, ${day}` : day;
}

export function formatAgo(millis: number): string {
  const seconds = (Date.now() - millis) / 1000;
  const steps: readonly (readonly [number, string])[] = [
    [86_400 * 365, "year"],
    [86_400 * 30, "month"],
    [86_400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  for (const [length, unit] of steps) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return `${count} ${unit}${count > 1 ? "s" : ""} ago`;
  }
  return "just now";
}

/** Returns a type as text, such as `list<struct<a: int64>>`. */
export function formatType(type: JsonType): string {
  const { type: name, fields = [], length } = type;
  if (name === "fixed_size_list") return `${formatType(fields[0]?.type ?? { type: "?" })}[${length ?? "?"}]`;
  if (/list$/.test(name)) return `${name}<${fields[0] ? formatType(fields[0].type) : "?"}>`;
  if (name === "struct")
    return `struct<${fields.map((field) => `${field.name}: ${formatType(field.type)}`).join(", ")}>`;
  if (name === "map") return `map<${fields.map((field) => formatType(field.type)).join(", ")}>`;
  return length === undefined ? name : `${name}[${length}]`;
}

/** True for a column of vectors. */
export const isVectorField = ({ type }: JsonField): boolean =>
  type.type === "fixed_size_list" && /float|half|double|int8/.test(type.fields?.[0]?.type.type ?? "");

export const isNumberField = ({ type }: JsonField): boolean =>
  /^(u?int|float|half|double|decimal)/.test(type.type);
export const isTextField = ({ type }: JsonField): boolean => /utf8|string/.test(type.type);

/** Characters that would hide or reorder text: controls, and marks of the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it finds
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff]/g;

/** Replaces characters that nobody sees by visible ones. */
export const visibleText = (text: string): string =>
  text.replace(HIDDEN, (character) => {
    if (character === "\n") return "⏎";
    if (character === "\t") return "⇥";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });

/** Path of a column in a filter: quoted unless it is a plain name. */
export const quoteName = (name: string): string =>
  /^[\p{Alphabetic}_][\p{Alphabetic}\p{N}_]*$/u.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
