/**
 * Removes the directories of each test file when it is done. A setup file, as it is run for every test file, where a module
 * that several files of one process import would say so for the first of them only.
 */

import { afterAll } from "vitest";
import { removeTempDirs } from "./tempDir.js";

afterAll(removeTempDirs);
