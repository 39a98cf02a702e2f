/** Stands for the parts of the handler that work on Node's servers, in builds for browsers and Workers. */

import { UnsupportedError } from "../../errors.js";
import type { toNodeListener as listener } from "./nodeListener.js";
import type { attachProblemAnswers as attach } from "./nodeProblems.js";

const refuse = (name: string): never => {
  throw new UnsupportedError(
    `${name}: this build has no servers of Node.js; call the handler with a Request`,
  );
};

/** @throws UnsupportedError always */
export const toNodeListener: typeof listener = () => refuse("toNodeListener");

/** @throws UnsupportedError always */
export const attachProblemAnswers: typeof attach = () => refuse("attachProblemAnswers");
