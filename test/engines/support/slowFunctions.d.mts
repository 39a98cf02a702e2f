import type { UserFunction } from "tiltyard";

export const functions: Readonly<Record<string, UserFunction>>;
