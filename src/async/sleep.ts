/** Waits for a number of milliseconds. */
import { setTimeout } from "./timers.js";
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
