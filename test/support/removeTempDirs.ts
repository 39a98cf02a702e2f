/**
 * Removes the directories of each test file after its tests. Setup files run for every test file, whereas a
 * module that several files import runs once.
 */

import { afterAll } from "vitest";
import { removeTempDirs } from "./tempDir.js";

afterAll(removeTempDirs);
