/** Prints what the program saw. */

import { exercise } from "./exercise.js";

console.log(JSON.stringify(await exercise(process.argv[2])));
