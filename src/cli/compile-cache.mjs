// Compiling the program anew costs more than most commands. Where the folder cannot be written, as in a read-only image, the
// cache is off. The folder is never a shared one for temporary files, where another user could replace the compiled program.
// This file is JavaScript, so that the first file in TypeScript is cached too and the compiler is not loaded at all.
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/orderpass', import.meta.url)));
