/** Tells expressions that a program built from other values. */

import type { Expression } from "./build.js";
import { hasSyntax } from "./parse/syntax.js";

/** True if the value is an expression, also one of another copy of this package. */
export const isExpression = (value: unknown): value is Expression => hasSyntax(value);
